"""One score, and what it did to the board that its sender looks at."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db.models import Max
from django.utils import timezone

from config.errors import DomainError, Unavailable
from leaderboards import log, partitions, ranking
from leaderboards.attempts import window_ids
from leaderboards.boards import store
from leaderboards.boards.board import Board
from leaderboards.boards.store import Slot
from leaderboards.log import State
from leaderboards.models import Mode, Outbox, Stream
from leaderboards.outbox import shard_of
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.services.set_aside import has_set_aside
from players.access import Caller
from players.lookups import GameRecord

_POLL = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Seen:
    """A player on a board at one moment; the score is raw."""

    score: int | None = None
    rank: int | None = None
    total: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """`before` is None where the boards did not answer; `after` where they do not show it yet."""

    outcome: Outcome
    windows: list[str]
    before: Seen | None
    after: Seen | None
    improved: bool | None


def score_submit(*, game: GameRecord, caller: Caller, item: Item, board: Board, wait: float) -> Told:
    """Durable when this returns; also shown by the boards where waiting was long enough."""
    seen: list[Seen | None] = []
    board = replace(board, fresh=wait > 0)

    def look(players: Mapping[str, int]) -> None:
        seen.extend(_seen(board, player, ranked=wait > 0) for player in players.values())

    (outcome,) = scores_submit(game=game, caller=caller, items=[item], look=look)
    if isinstance(outcome, DomainError):
        raise outcome
    before = None if outcome.duplicate else seen[0]
    windows = window_ids(outcome.logged.windows, outcome.logged.achieved_at, board.mode.timezone)
    counts = board.window.id in windows and outcome.logged.state is State.ACCEPTED
    improved = None if before is None else counts and _improves(board, before, outcome)
    after = _after(board, outcome, wait)
    if wait:  # what needs history is judged on the way to the boards
        outcome = _judged(outcome)
        after = after if outcome.logged.state is State.ACCEPTED else None
    return Told(outcome, windows, before, after, improved)


def _judged(outcome: Outcome) -> Outcome:
    found = log.find([(outcome.player, outcome.attempt_id)], since=partitions.recent_since(timezone.now()))
    return replace(outcome, logged=next(iter(found.values()), outcome.logged))


def _seen(board: Board, player: int, *, ranked: bool) -> Seen | None:
    try:
        if not ranked:
            return Seen(score=ranking.score_of(board, player))
        found, _, _ = ranking.standing(board, player)
    except Unavailable:
        return None
    own = found.entries[0] if found.entries else None
    return Seen(own.score if own else None, own.rank if own else None, found.total, found.version)


def _improves(board: Board, before: Seen, outcome: Outcome) -> bool:
    if before.score is None:
        return True
    gained = outcome.logged.score if board.mode.aggregation == "sum" else outcome.logged.score - before.score
    return gained * board.placing.sign > 0


def _after(board: Board, outcome: Outcome, wait: float) -> Seen | None:
    if outcome.logged.state is not State.ACCEPTED or not wait:
        return None
    deadline = time.monotonic() + wait
    try:
        if not _shown(outcome, deadline):
            return None
    except Unavailable:
        return None
    while True:
        board.mode.refresh_from_db(fields=["generation", "shards"])
        seen = _seen(board, outcome.player, ranked=True)
        if seen or time.monotonic() + _POLL > deadline:
            return seen
        time.sleep(_POLL)  # another shard is being made


def _shown(outcome: Outcome, deadline: float) -> bool:
    """Whether all that its stream had when it was logged is on the boards before then."""
    mode, waited = outcome.mode.pk, None
    while True:
        shards, generation = Mode.objects.values_list("shards", "generation").get(pk=mode)
        if waited is None or waited.shards != shards:  # spread anew meanwhile: its row may be another by now
            waited = _Waited(mode, shards, shard_of(outcome.player, shards))
        seq = waited.stamped()
        if seq is not None and (store.mark(Slot(mode, waited.shard, generation)) or 0) >= seq:
            return not has_set_aside(mode=mode, player=outcome.player)
        if time.monotonic() + _POLL > deadline:
            return False
        time.sleep(_POLL)


@dataclass(slots=True)
class _Waited:
    """For what a stream has pending now to be stamped."""

    mode: int
    shards: int
    shard: int
    last: int | None = None  # pending row
    seq: int | None = None

    def stamped(self) -> int | None:
        """The number that shows all of it, once it has one."""
        pending = Outbox.objects.filter(mode=self.mode)
        if self.last is None:
            if pending.exclude(shards=self.shards).exists():
                return None  # on their way to their streams, this one perhaps
            self.last = pending.filter(shards=self.shards, shard=self.shard).aggregate(last=Max("pk"))["last"] or 0
        own = pending.filter(shards=self.shards, shard=self.shard, pk__lte=self.last)
        if self.seq is None and not (self.last and own.exists()):
            self.seq = Stream.objects.filter(mode=self.mode, shard=self.shard).values_list("seq", flat=True).first()
        return self.seq
