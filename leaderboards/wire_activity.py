"""What goes out about what just happened."""

from typing import Annotated, Literal

from msgspec import Meta

from config.wire import Incoming, Instant, Outgoing
from leaderboards.wire import ScoreOut


class ActivityQuery(Incoming):
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class Happening(Outgoing):
    """A window's global board has a new leader, or somebody new among its first ten, or a player has a new best."""

    kind: Literal["new_leader", "entered_top", "new_best"]
    player_id: str
    display_name: str
    country: str | None
    avatar_url: str | None
    score: ScoreOut
    rank: int  # then
    window: str
    window_id: str
    at: Instant


class ActivityState(Outgoing):
    """Newest first."""

    game: str
    mode: str
    activity: list[Happening]
