"""What comes in and goes out about scores: the contract, once."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, Raw, UnsetType

from config.wire import Incoming, Outgoing
from leaderboards.wire import ScoreIn, ScoreOut

Word = Annotated[str, Meta(max_length=128)]


class ClientInfo(Incoming):
    """Where a score came from. For checks and audit, never public."""

    address: Word | None = None
    device: Word | None = None
    session_id: Word | None = None
    platform: Word | None = None
    build: Word | None = None


class Submission(Incoming):
    score: ScoreIn
    player_id: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    attempt_id: UUID | UnsetType = UNSET
    achieved_at: Annotated[datetime, Meta(tz=True)] | UnsetType = UNSET
    dimensions: dict[str, Word] = {}
    metadata: Raw | UnsetType = UNSET
    client: ClientInfo | UnsetType = UNSET
    attempt_token: Annotated[str, Meta(max_length=4096)] | UnsetType = UNSET


class BatchSubmission(Submission, kw_only=True):
    mode: Word


class Batch(Incoming):
    """Items are decoded one by one, so that a bad one does not take the others with it."""

    scores: Annotated[list[Raw], Meta(min_length=1, max_length=10_000)]


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
    version: int | UnsetType = UNSET


class Refusal(Outgoing):
    index: int
    code: str
    detail: str


class BatchState(Outgoing):
    accepted: int
    duplicates: int
    rejected: int
    errors: list[Refusal]


class AttemptState(Outgoing):
    attempt_id: UUID
    mode: str
    score: ScoreOut
    achieved_at: datetime
    received_at: datetime
    state: str
    reasons: list[str]
    windows: list[str]
    dimensions: dict[str, str]
    metadata: Any


class AttemptList(Outgoing):
    attempts: list[AttemptState]
    next_cursor: str | None
