"""What comes in and goes out about estimates: the rank that a score would have, and how scores are spread."""

from typing import Annotated

from msgspec import Meta, field

from config.wire import Incoming, Outgoing
from leaderboards.wire import ScoreIn, ScoreOut
from leaderboards.wire_scores import ScopeName


class PreviewQuery(Incoming):
    score: ScoreIn
    scope: ScopeName = "global"


class PreviewState(Outgoing):
    score: ScoreOut
    rank: int
    total: int
    estimate: bool


class DistributionQuery(Incoming):
    scope: ScopeName = "global"
    buckets: Annotated[int, Meta(ge=1, le=1000, description="At most so many")] = 50


class BucketState(Outgoing):
    """Scores from one to another, both included, and how many players have one of them."""

    from_: ScoreOut = field(name="from")
    to: ScoreOut
    count: int


class DistributionState(Outgoing):
    """Least scores first. Buckets hold about as many players each, where not too many share a score."""

    buckets: list[BucketState]
    total: int
    estimate: bool
