"""One board: where it lies, how its places are read, and what its readers ask for and get."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from config import valkey
from config.errors import Unavailable
from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.guard import guard
from leaderboards.boards.store import Slot
from leaderboards.errors import ScopeNotFound, WindowNotFound
from leaderboards.hot import expires_at
from leaderboards.models import Mode
from leaderboards.rules.mode import DIMENSION_VALUE
from leaderboards.rules.placing import Placing, placing
from leaderboards.rules.windows import Window, timezone_named, window_named


@dataclass(frozen=True, slots=True)
class Board:
    mode: Mode
    window: Window
    scope: str
    placing: Placing
    fresh: bool = False  # for a reader who knows what should be there: replicas may not know it yet

    @property
    def slots(self) -> list[Slot]:
        return [self.slot(shard) for shard in range(self.mode.shards)]

    def slot(self, shard: int) -> Slot:
        return Slot(self.mode.pk, shard, self.mode.generation)

    @property
    def by_replicas(self) -> bool:
        return settings.READ_REPLICAS and not self.fresh

    def read(self, function: str, *args: object) -> list[store.Answer]:
        """Each shard's answer. Those of a cluster belong together only where `is_still` says so."""
        slots = self.slots
        if self.by_replicas:
            with suppress(Unavailable):  # whatever a replica cannot answer, its primary can
                return self._read(slots, function, *args, replicas=True)
        try:
            return self._read(slots, function, *args)
        except store.NotBuilt:
            outbox.ring((self.mode.pk, shard) for shard in range(self.mode.shards))  # whoever answers makes them again
            raise

    def is_still(self, answers: Sequence[store.Answer]) -> bool:
        """Whether no shard has been written to since: then there was a moment, between, that all are of."""
        if len(answers) <= 1 or valkey.of_one_moment():
            return True
        return store.marks(self.slots) == [answer.mark for answer in answers]

    def _read(self, slots: list[Slot], function: str, *args: object, replicas: bool = False) -> list[store.Answer]:
        ours = guard.watch(slots)
        answers = store.read(function, slots, self.window.id, self.scope, *args, replicas=replicas)
        if not ours():
            raise store.NotBuilt("The board is being made again.", retry_after=2)
        return answers


@dataclass(frozen=True, slots=True)
class Entry:
    rank: int
    player: int
    score: int
    achieved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
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
    return Board(mode, found, scope, placing(mode.rules, found, epoch=mode.epoch))
