"""Reads of boards: pages, ranks, neighbours. Correct for one shard and for many; names join elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge

from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.store import Slot
from leaderboards.errors import ScopeNotFound, WindowNotFound
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Stream
from leaderboards.outbox import shard_of
from leaderboards.rules.mode import DIMENSION_VALUE
from leaderboards.rules.placing import Placing, placing
from leaderboards.rules.windows import Window, timezone_named, window_named

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Place = tuple[int, int]  # place, player: the order of a board is greater place first, then the older player


@dataclass(frozen=True, slots=True)
class Board:
    mode: Mode
    window: Window
    scope: str
    placing: Placing

    @property
    def slots(self) -> list[Slot]:
        return [self.slot(shard) for shard in range(self.mode.shards)]

    def slot(self, shard: int) -> Slot:
        return Slot(self.mode.pk, shard, self.mode.generation)

    def read(self, function: str, *args: object) -> list[store.Answer]:
        try:
            return store.read(function, self.slots, self.window.id, self.scope, *args)
        except store.NotBuilt:
            outbox.ring((self.mode.pk, shard) for shard in range(self.mode.shards))  # whoever answers makes them again
            raise


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


_EMPTY = Page(0, 0, None, [])


def _is_untouched(mode: Mode) -> bool:
    """Nothing of it has been stamped yet, so its boards are rightly not there."""
    return mode.first_score_at is None or not Stream.objects.filter(mode=mode, seq__gt=0).exists()


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
    return Board(mode, found, scope, placing(mode.rules, found, epoch=mode.created_at))


def page(board: Board, *, offset: int, limit: int) -> Page:
    if _is_untouched(board.mode):
        return _EMPTY
    answers = board.read("range", 0, offset + limit - 1)
    heads = [[(-place, player) for player, place in store.entries(answer.rest[0])] for answer in answers]
    ordered = [(-negative, player) for negative, player in merge(*heads)][offset : offset + limit]
    return _page(board, answers, ordered, _ranks(board, ordered, first=offset + 1))


def standing(board: Board, player: int, *, neighbours: int = 0) -> tuple[Page, list[Entry], list[Entry]]:
    """The player's own entry (or none) with the board's totals, those above and those below."""
    if _is_untouched(board.mode):
        return _EMPTY, [], []
    own = board.slot(shard_of(player, board.mode.shards))
    answers = board.read("places", store.member(player))
    place = answers[own.shard].rest[0][0]
    if not place:
        return _page(board, answers, [], []), [], []
    here = (int(float(place)), player)
    ahead, behind = _near(board, here, neighbours) if neighbours else ([], [])
    ranks = _ranks(board, [*ahead, here, *behind])
    found = _page(board, answers, [*ahead, here, *behind], ranks)
    above, below = found.entries[: len(ahead)], found.entries[len(ahead) + 1 :]
    return Page(found.version, found.total, found.updated_at, [found.entries[len(ahead)]]), above, below


def _near(board: Board, here: Place, most: int) -> tuple[list[Place], list[Place]]:
    answers = board.read("near", here[0], store.member(here[1]), most)
    ahead = sorted((-place, player) for answer in answers for player, place in store.entries(answer.rest[0]))
    behind = sorted((-place, player) for answer in answers for player, place in store.entries(answer.rest[1]))
    return [(-place, player) for place, player in ahead[-most:]], [(-place, player) for place, player in behind[:most]]


def _ranks(board: Board, places: Sequence[Place], *, first: int | None = None) -> list[int]:
    """Of each place; `first` where the places are a run of the board that begins there."""
    if not places:
        return []
    if board.mode.ranking == "unique":
        if first is not None:
            return list(range(first, first + len(places)))
        asked = [value for place, player in places for value in (place, store.member(player))]
        return _counts(board.read("before", *asked))
    if board.mode.ranking == "dense":
        width = 1 << board.placing.bits
        return _counts(board.read("keys_above", *(place // width for place, _ in places)))
    return _counts(board.read("above", *(place | (1 << board.placing.bits) - 1 for place, _ in places)))


def _counts(answers: Iterable[store.Answer]) -> list[int]:
    return [1 + sum(counts) for counts in zip(*(answer.rest[0] for answer in answers), strict=True)]


def _page(board: Board, answers: Sequence[store.Answer], places: Sequence[Place], ranks: Sequence[int]) -> Page:
    changed = max(answer.at for answer in answers)
    entries = [
        Entry(rank, player, board.placing.score(place), board.placing.achieved_at(place))
        for rank, (place, player) in zip(ranks, places, strict=True)
    ]
    return Page(
        version=sum(answer.mark for answer in answers),
        total=sum(answer.members for answer in answers),
        updated_at=_EPOCH + timedelta(microseconds=changed) if changed else None,
        entries=entries,
    )
