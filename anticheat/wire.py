"""What comes in and goes out about cases, rulings and rollbacks: for game servers with the scope `moderate`."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from config.wire import Incoming, Instant, Outgoing
from leaderboards.wire import ModeSlug, ScoreOut
from players.wire import PlayerId

Number = Annotated[int, Meta(ge=1, le=2**53)]
Reason = Annotated[str, Meta(min_length=1, max_length=500, description="Which the player may be told.")]
Limit = Annotated[int, Meta(ge=1, le=200)]
CaseStates = Literal["open", "watching", "cleared", "confirmed"]
RulingKinds = Literal[
    "release", "reject", "clear", "watch", "confirm", "hide", "shadow", "suspend", "ban", "rollback"
]  # fmt: skip


class CasesQuery(Incoming):
    state: CaseStates = "open"
    limit: Limit = 50
    cursor: Annotated[str, Meta(max_length=200)] | None = None


class RulingsQuery(Incoming):
    player_id: PlayerId | None = None
    limit: Limit = 50
    before: Number | None = None


class FindingState(Outgoing):
    attempt_id: UUID
    score: ScoreOut
    check: str
    verdict: str
    risk: float
    reason: str
    details: dict[str, Any]
    found_at: Instant


class CaseState(Outgoing):
    case: int
    mode: str
    player_id: str | None
    state: CaseStates
    risk: float
    rank: int | None
    opened_at: Instant
    updated_at: Instant


class CaseList(Outgoing):
    cases: list[CaseState]
    next_cursor: str | None


class Selection(Incoming):
    """Which attempts, by when they arrived; of the ruling's player and mode where it names them."""

    since: Instant
    until: Instant | UnsetType = UNSET
    key: Annotated[str, Meta(max_length=16, description="The prefix of an API key: all that it sent.")] | None = None
    attempt_id: UUID | None = None
    predicate: Annotated[
        dict[str, str], Meta(max_length=8, description="build, platform, device, address, session_id or a dimension.")
    ] = {}


class RollbackQuestion(Incoming):
    rollback: Selection
    player_id: PlayerId | None = None
    mode: ModeSlug | None = None


class RulingRequest(Incoming):
    """Of a case: its player and its mode, which need not be named. A ban that names no mode is of the whole game."""

    kind: RulingKinds
    reason: Reason
    player_id: PlayerId | None = None
    mode: ModeSlug | None = None
    case: Number | None = None
    attempts: Annotated[list[UUID], Meta(max_length=1000)] = []
    note: Annotated[str, Meta(max_length=4000)] = ""
    ends_at: Instant | None = None
    rollback: Selection | None = None


class UndoRequest(Incoming):
    why: Reason


class RollbackState(Outgoing):
    state: str
    since: Instant
    until: Instant
    total: int
    done: int
    ended_at: Instant | None


class RulingState(Outgoing):
    ruling: int
    kind: RulingKinds
    state: str
    player_id: str | None
    mode: str | None
    case: int | None
    reason: str
    at: Instant
    ends_at: Instant | None
    attempts: int
    rollback: RollbackState | None
    undone_at: Instant | None
    undone_why: str


class RulingList(Outgoing):
    rulings: list[RulingState]
    next_before: int | None


class CaseDetail(Outgoing):
    case: CaseState
    findings: list[FindingState]
    rulings: list[RulingState]


class TopEntry(Outgoing):
    rank: int
    player_id: str
    score: ScoreOut


class TopState(Outgoing):
    """The first ten of a board, now and after."""

    mode: str
    window_id: str
    before: list[TopEntry]
    after: list[TopEntry]


class RollbackPreviewState(Outgoing):
    """`whole` false: so many that the tops are worked out from a part. The log goes back to `log_since`."""

    attempts: int
    counting: int
    players: int
    log_since: str | None
    whole: bool
    tops: list[TopState]
