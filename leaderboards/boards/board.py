"""One board: where it lies, how its places are read, and what its readers ask for and get."""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
from django.conf import settings

from config import valkey
from config.errors import Unavailable
from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.guard import guard
from leaderboards.boards.store import Slot
from leaderboards.errors import BoardsUnavailable, ScopeNotFound, WindowNotFound
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Stream
from leaderboards.rules.mode import DIMENSION_VALUE, ModeRules
from leaderboards.rules.placing import Placing, placing
from leaderboards.rules.windows import Window, longest, timezone_named, window_named

Position = tuple[int, int]  # place, player: the order of a board is greater place first, then the older player
_touched: set[int] = set()  # modes, for ever: what was stamped stays stamped


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    mode: Mode
    window: Window
    scope: str
    placing: Placing
    rules: ModeRules
    fresh: bool = False  # for a reader who knows what should be there: replicas may not know it yet
    viewer: int | None = None  # a player who stands on it for itself alone (leaderboards/ghosts.py)

    @property
    def slots(self) -> list[Slot]:
        return [self.slot(shard) for shard in range(self.mode.shards)]

    def slot(self, shard: int) -> Slot:
        return Slot(self.mode.pk, shard, self.mode.generation)

    @property
    def is_untouched(self) -> bool:
        """Nothing of its mode has been stamped yet, so its boards are rightly not there."""
        if self.mode.pk in _touched:
            return False
        if self.mode.first_score_at is None or not Stream.objects.filter(mode=self.mode, seq__gt=0).exists():
            return True
        _touched.add(self.mode.pk)
        return False

    def read(self, function: str, *args: object) -> list[store.Answer]:
        """What each shard answers."""
        return self.read_each([(function, *args)])[0]

    def read_each(self, questions: Sequence[tuple[object, ...]]) -> list[list[store.Answer]]:
        """For each question (a function and its arguments) what each shard answers, all in one trip."""
        if self.by_replicas:
            with suppress(Unavailable):  # whatever a replica cannot answer, its primary can
                return self._read(questions, replicas=True)
        try:
            return self._read(questions)
        except store.NotBuilt:
            if (now := self._now()) is not None:
                raise Replaced(now) from None  # how it is asked depends on how many shards there are
            outbox.ring((self.mode.pk, shard) for shard in range(self.mode.shards))  # who answers makes them again
            raise

    @property
    def by_replicas(self) -> bool:
        return settings.READ_REPLICAS and not self.fresh

    def is_still(self, answers: Sequence[store.Answer]) -> bool:
        """Whether no shard has been written to since: then there was a moment, between, that all are of."""
        if len(answers) <= 1 or valkey.of_one_moment():
            return True
        return store.marks(self.slots) == [answer.mark for answer in answers]

    def _now(self) -> "Board | None":
        """As it is, where it was replaced and the mode at hand does not know of it yet; others hold that mode, too."""
        mode = copy(self.mode)
        mode.generation, mode.shards = type(mode).objects.values_list("generation", "shards").get(pk=mode.pk)
        same = (mode.generation, mode.shards) == (self.mode.generation, self.mode.shards)
        return None if same else replace(self, mode=mode)

    def _read(self, questions: Sequence[tuple[object, ...]], *, replicas: bool = False) -> list[list[store.Answer]]:
        slots = self.slots
        ours = guard.watch(slots)
        answers = store.read_each(questions, slots, self.window.id, self.scope, replicas=replicas)
        if not ours():
            raise store.NotBuilt("The board is being made again.", retry_after=2)
        return answers

    def entries(self, positions: Sequence[Position], ranks: Sequence[int]) -> list["Entry"]:
        known = self.placing.read([place for place, _ in positions])
        return [
            Entry(rank, player, score, at)
            for rank, (_, player), (score, at) in zip(ranks, positions, known, strict=True)
        ]


class Replaced(BoardsUnavailable):
    """By `board`, of another generation and perhaps of other shards: who asks begins anew there."""

    def __init__(self, board: Board) -> None:
        super().__init__("The board has just been replaced.", retry_after=1)
        self.board = board


class Entry(msgspec.Struct, frozen=True):
    rank: int
    player: int
    score: int
    achieved_at: datetime | None


class Page(msgspec.Struct, frozen=True):
    """`version`: the sum of the shards' marks; pages with the same version agree."""

    version: int
    total: int
    updated_at: datetime | None
    entries: list[Entry]
    more_before: bool = False
    more_after: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """Raw scores from `low` to `high`, both included; None where the side is open."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """An entry that a reader stopped at, and the side of it that is asked for."""

    score: int
    at: int | None  # microseconds since 1970
    player: int
    after: bool


def longest_board(mode: Mode, *, at: datetime) -> Board:
    """The global one of the mode's longest window: what all players have is told from it."""
    return board_named(mode=mode, window=longest(mode.windows).value, scope="global", at=at)


def board_named(*, mode: Mode, window: str, scope: str, at: datetime) -> Board:
    try:
        found = window_named(window, at, timezone_named(mode.timezone))
    except ValueError as error:
        raise WindowNotFound(str(error)) from None
    expires = expires_at(found)
    if found.kind not in mode.windows or (found.starts_at and found.starts_at > at) or (expires and expires <= at):
        raise WindowNotFound(f"{mode.slug} has no window {window[:60]!r} to show.")
    dimension, colon, value = scope.partition(":")
    if scope != "global" and not (colon and dimension in mode.dimensions and DIMENSION_VALUE.fullmatch(value)):
        raise ScopeNotFound(f"{mode.slug} has no scope {scope[:100]!r}.")
    rules = mode.rules
    return Board(mode, found, scope, placing(rules, found, epoch=mode.epoch), rules)
