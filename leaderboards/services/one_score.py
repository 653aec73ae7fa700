"""One score, and what it did to the board that its sender looks at."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Max
from msgspec import Struct, structs

from config import clock
from config.errors import DomainError, Unavailable
from leaderboards import estimates, log, partitions, whereabouts
from leaderboards.attempts import window_ids
from leaderboards.boards import store
from leaderboards.boards.board import Board, Entry, Page
from leaderboards.boards.store import Slot
from leaderboards.estimates import Moved
from leaderboards.log import State
from leaderboards.models import Mode, Outbox, Stream
from leaderboards.outbox import shard_of
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.services.set_aside import has_set_aside
from players.lookups import GameRecord

_POLL = 0.02  # seconds


class Seen(Struct, frozen=True):
    """A player on a board at one moment; the score is raw."""

    score: int | None = None
    rank: int | None = None
    total: int | None = None
    version: int | None = None


class Told(Struct, frozen=True):
    """`before` is None where the boards did not answer; `after` where they do not show it yet.

    `moved`: about what it does to the rank, where neither was the case.
    """

    outcome: Outcome
    windows: list[str]
    before: Seen | None
    after: Seen | None
    improved: bool | None
    moved: Moved | None = None


class Asked(NamedTuple):
    """A score, and the board that its sender looks at: `window` as it was named."""

    game: GameRecord
    item: Item
    board: Board
    window: str


def score_submit(*, asked: Asked, wait: float) -> Told:
    """Durable when this returns; also shown by the boards where waiting was long enough."""
    asked = asked._replace(board=replace(asked.board, fresh=wait > 0))
    (told,) = scores_tell(game=asked.game, asked=[asked], ranked=wait > 0)
    if isinstance(told, DomainError):
        raise told
    if not wait:
        return told
    after = _after(asked.board, told.outcome, wait)
    outcome = _judged(told.outcome)  # what needs history is judged on the way to the boards
    if outcome.logged.state is not State.ACCEPTED:  # nothing comes of it, whatever was thought
        return structs.replace(told, outcome=outcome, after=None, improved=told.improved and False, moved=_stayed(told))
    return structs.replace(told, outcome=outcome, after=after)


def _stayed(told: Told) -> Moved | None:
    """Who was on no board before is not on it now."""
    moved = told.moved
    return moved and Moved(moved.rank_before, moved.rank_before, moved.total - (moved.rank_before is None))


def scores_tell(*, game: GameRecord, asked: Sequence[Asked], ranked: bool = False) -> list[Told | DomainError]:
    """Of scores that came in together to one game, each with what it does to its board: known, or about."""
    looks: dict[Board, _Look] = {}

    def look(players: Mapping[str, int]) -> None:
        """Just before they are logged."""
        for board in {one.board for one in asked}:
            own = list(players.values()) if board.viewer is None else [board.viewer]
            looks[board] = _Look(board, ranked=ranked, players=own)

    outcomes = scores_submit(game=game, items=[one.item for one in asked], look=look)
    return [
        outcome if isinstance(outcome, DomainError) else _told(one.board, outcome, looks.get(one.board))
        for one, outcome in zip(asked, outcomes, strict=True)
    ]


class _Look:
    """What a board shows of some players at one moment; nothing where it does not answer."""

    def __init__(self, board: Board, *, ranked: bool, players: Sequence[int]) -> None:
        self._entries: dict[int, Entry] = {}
        self._page: Page | None = None
        try:
            if ranked:
                self._page, found = whereabouts.around(board, [(player, 0) for player in players])
                self._entries = {one.own.player: one.own for one in found if one}
                self._scores = {player: entry.score for player, entry in self._entries.items()}
            else:
                self._scores, self._page = whereabouts.glance(board, players)
        except Unavailable:
            return

    def seen(self, player: int) -> Seen | None:
        if self._page is None:
            return None
        entry = self._entries.get(player)
        return Seen(self._scores.get(player), entry.rank if entry else None, self._page.total, self._page.version)


def _told(board: Board, outcome: Outcome, look: _Look | None) -> Told:
    seen = (look or _Look(board, ranked=False, players=[outcome.player])).seen(outcome.player)
    before = None if outcome.duplicate else seen
    windows = window_ids(outcome.logged.windows, outcome.logged.achieved_at, board.mode.timezone)
    counts = board.window.id in windows and outcome.logged.state is State.ACCEPTED
    improved = None if before is None else counts and _improves(board, before, outcome)
    moved = _moved(board, outcome, seen, counts=counts and not outcome.duplicate)
    return Told(outcome, windows, before, None, improved, moved)


def _moved(board: Board, outcome: Outcome, before: Seen | None, *, counts: bool) -> Moved | None:
    """After the commit: boards that do not answer now take nothing back. A duplicate moves nothing."""
    if before is None or before.total is None or before.version is None:
        return None
    after = _combined(board, before.score, outcome.logged.score) if counts else before.score
    try:
        return estimates.moved(board, before=before.score, after=after, total=before.total, version=before.version)
    except Unavailable:
        return None


def _combined(board: Board, before: int | None, score: int) -> int:
    """What the board has of a player once it shows the score."""
    if before is None or board.mode.aggregation == "latest":
        return score
    if board.mode.aggregation == "sum":
        return before + score
    return max(before, score, key=lambda one: one * board.placing.sign)


def _judged(outcome: Outcome) -> Outcome:
    found = log.find([(outcome.player, outcome.attempt_id)], since=partitions.recent_since(clock.now()))
    return structs.replace(outcome, logged=next(iter(found.values()), outcome.logged))


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
        # the first score may be this very one; whoever else holds the mode goes on reading where it began
        board = replace(board, mode=Mode.objects.select_related("game").get(pk=board.mode.pk))
        seen = _Look(board, ranked=True, players=[outcome.player]).seen(outcome.player)
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
