"""What comes in and goes out about scores: the contract, once."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, UnsetType

from config import wire
from config.wire import Incoming, Instant, Outgoing
from leaderboards.rules.mode import MOST_DIMENSIONS, Aggregation, Order, Ranking
from leaderboards.wire import ScoreIn, ScoreOut

MOST_ITEMS = 10_000  # of a batch
Word = Annotated[str, Meta(max_length=128)]


class ClientInfo(Incoming):
    """Where a score came from. For checks and audit, never public."""

    address: Word | None = None
    device: Word | None = None
    session_id: Word | None = None
    platform: Word | None = None
    build: Word | None = None


class Submission(Incoming, gc=False):  # nothing in it refers back; a batch has ten thousand
    score: ScoreIn
    player_id: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    attempt_id: UUID | UnsetType = UNSET
    achieved_at: Instant | UnsetType = UNSET
    dimensions: Annotated[dict[str, Word], Meta(max_length=MOST_DIMENSIONS)] = {}
    metadata: Raw | UnsetType = UNSET
    client: ClientInfo | UnsetType = UNSET
    attempt_token: Annotated[str, Meta(max_length=4096)] | UnsetType = UNSET


class BatchSubmission(Submission, kw_only=True, gc=False):
    mode: Word


class Batch(Incoming):
    """Items are decoded one by one, so that a bad one does not take the others with it."""

    scores: Annotated[list[Raw], Meta(min_length=1, max_length=MOST_ITEMS)]


class LargeBatch(Incoming):
    """The same of a large body: decoding ends at the first item too many, not when millions are in memory."""

    scores: wire.at_most(MOST_ITEMS)  # type: ignore[valid-type]


class WholeBatch(Incoming):
    """The same where all of it is as it should be: decoded at once."""

    scores: Annotated[list[BatchSubmission], Meta(min_length=1, max_length=MOST_ITEMS)]


ScopesLeftOut = Annotated[
    list[str],
    Meta(
        description="Scopes that the score does not count in: their values are new, and the sender may not bring them"
        " or the mode has no room for them",
        examples=[["level:z0"]],
    ),
]


class SubmissionState(Outgoing):
    status: str
    attempt_id: UUID
    player_id: str
    score: ScoreOut
    previous_best: ScoreOut | None
    improved: bool | None
    window: str
    rank_before: int | None
    rank_after: int | None
    delta: int | None
    total: int | None
    estimate: bool
    duplicate: bool
    fraud_check: str
    windows: list[str]
    scopes_left_out: ScopesLeftOut | UnsetType = UNSET  # if there are any
    version: int | UnsetType = UNSET


class Refusal(Outgoing):
    index: int
    code: str
    detail: str
    retry_after: int | UnsetType = UNSET  # seconds, where it may be sent again


class ItemLeftOut(Outgoing):
    index: int
    scopes: ScopesLeftOut


class BatchState(Outgoing):
    accepted: int
    duplicates: int
    rejected: int
    errors: list[Refusal]
    scopes_left_out: list[ItemLeftOut] | UnsetType = UNSET  # if there are any


class EntryState(Outgoing):
    rank: int | None
    player_id: str
    display_name: str
    country: str | None
    avatar_url: str | None
    score: ScoreOut | None
    achieved_at: Instant | None
    metadata: Any | UnsetType = UNSET  # where it was asked for: of the attempt that counts


class BoardState(Outgoing):
    game: str
    mode: str
    window: str
    window_id: str
    scope: str
    aggregation: Aggregation
    order: Order
    ranking: Ranking
    tie_resolution_ms: int | None
    state: str
    stale: bool
    version: int
    starts_at: Instant | None
    resets_at: Instant | None
    total: int
    updated_at: Instant | None
    entries: list[EntryState]
    next_cursor: str | None
    prev_cursor: str | None


class PendingState(Outgoing):
    """An attempt that waits for a look, and is on no board meanwhile."""

    attempt_id: UUID
    score: ScoreOut
    achieved_at: Instant


class StandingState(Outgoing):
    player_id: str
    rank: int | None
    score: ScoreOut | None
    achieved_at: Instant | None
    total: int
    percentile: float | None
    top_percent: float | None
    version: int
    rank_change: None
    pending: list[PendingState]  # told to the player itself, and to keys
    above: list[EntryState]
    below: list[EntryState]


ScopeName = Annotated[
    str, Meta(max_length=100, pattern="^(global|[a-z][a-z0-9_]{0,31}:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$")
]


CursorText = Annotated[str, Meta(max_length=500, description="As it was given out; for the same board and window")]


class Lookup(Incoming):
    player_ids: Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=1000)]


class LookupState(Outgoing):
    version: int
    entries: list[EntryState]
    not_found: list[str]


class BoardQuery(Incoming):
    scope: ScopeName = "global"
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    cursor: CursorText | None = None
    min_score: ScoreIn | None = None
    max_score: ScoreIn | None = None
    include: Literal["metadata"] | None = None


class ScopeQuery(Incoming):
    scope: ScopeName = "global"


class StandingQuery(Incoming):
    scope: ScopeName = "global"
    neighbors: Annotated[int, Meta(ge=0, le=50)] = 0


WindowName = Annotated[str, Meta(max_length=64, pattern="^[a-z]+(:[0-9W-]+)?$", examples=["daily", "alltime"])]


class AttemptState(Outgoing):
    """What became of an attempt."""

    attempt_id: UUID
    mode: str
    state: str
    score: ScoreOut
    achieved_at: Instant
    received_at: Instant
    windows: list[str]
    dimensions: dict[str, str]  # as submitted
    scopes_left_out: ScopesLeftOut
    metadata: Any
    reasons: list[str]


class AttemptList(Outgoing):
    attempts: list[AttemptState]
    next_cursor: str | None


class AttemptTokenRequest(Incoming):
    """What the game vouches for: the best score it believes in, or exactly one."""

    player_id: Annotated[str, Meta(max_length=64)]
    attempt_id: UUID | UnsetType = UNSET
    cap: ScoreIn | UnsetType = UNSET
    score: ScoreIn | UnsetType = UNSET
    ttl: Annotated[int, Meta(ge=1, le=24 * 3600, description="Seconds until it expires")] = 3600


class AttemptTokenState(Outgoing):
    attempt_id: UUID
    attempt_token: str
    expires_at: Instant


class AttemptsQuery(Incoming):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    cursor: CursorText | None = None


PreferWait = Annotated[
    str, Meta(description="wait=2: to be answered once the boards show it, in at most so many seconds", max_length=200)
]


class SubmitQuery(Incoming):
    window: WindowName | None = None
