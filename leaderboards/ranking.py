"""Reads of boards: pages, ranks, neighbours. Correct for one shard and for many; names join elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import merge
from typing import TypeVar

from leaderboards.boards import store
from leaderboards.boards.board import Band, Board, Entry, Page, Stop
from leaderboards.errors import BoardsUnavailable
from leaderboards.models import Mode, Stream
from leaderboards.outbox import shard_of
from leaderboards.rules.instants import instant_of

T = TypeVar("T")
_TRIES = 25
_BEYOND = 2**54  # no place is greater, nor less than its negative
Position = tuple[int, int]  # place, player: the order of a board is greater place first, then the older player
_EMPTY = Page(0, 0, None, [])


def _is_untouched(mode: Mode) -> bool:
    """Nothing of it has been stamped yet, so its boards are rightly not there."""
    return mode.first_score_at is None or not Stream.objects.filter(mode=mode, seq__gt=0).exists()


class _Moved(Exception):
    """The boards changed between two questions."""


class _Reading:
    """Questions whose answers belong together: all of them of the same marks, or none."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.answers: list[store.Answer] = []
        self.questions = 0

    def ask(self, function: str, *args: object) -> list[store.Answer]:
        answers = self.board.read(function, *args)
        if self.answers and [one.mark for one in answers] != [one.mark for one in self.answers]:
            raise _Moved
        self.answers = answers
        self.questions += 1
        return answers

    def confirm(self) -> None:
        """One question to several nodes may have been answered at several moments. A second, of the same marks, tells
        that it was not, unless replicas answered, each as late as it likes.
        """
        if (self.questions == 1 or self.board.by_replicas) and not self.board.is_still(self.answers):
            raise _Moved

    def counts(self, function: str, *args: object) -> list[int]:
        """How many in all shards, for each that was asked for."""
        answers = self.ask(function, *args)
        return [sum(counts) for counts in zip(*(answer.rest[0] for answer in answers), strict=True)]

    def page(self, places: Sequence[Position], ranks: Sequence[int], *, total: int | None = None) -> Page:
        changed = max(answer.at for answer in self.answers)
        placing = self.board.placing
        return Page(
            version=sum(answer.mark for answer in self.answers),
            total=sum(answer.members for answer in self.answers) if total is None else total,
            updated_at=instant_of(changed) if changed else None,
            entries=[
                Entry(rank, player, placing.score(place), placing.achieved_at(place))
                for rank, (place, player) in zip(ranks, places, strict=True)
            ],
        )


def _steady(board: Board, act: Callable[[_Reading], T]) -> T:
    """Again when the boards changed in between, so that ranks and version are of one moment."""
    for _ in range(_TRIES):
        reading = _Reading(board)
        try:
            found = act(reading)
            reading.confirm()
        except _Moved:
            board = replace(board, fresh=True)
            continue
        return found
    raise BoardsUnavailable("The board changes faster than it can be read.", retry_after=1)


def page(board: Board, *, offset: int, limit: int, band: Band | None = None) -> Page:
    if _is_untouched(board.mode):
        return _EMPTY

    def act(reading: _Reading) -> Page:
        skip, total = _band(reading, band)
        ordered = _run(reading, band, offset, limit)
        return _paged(reading, ordered, skip + offset, skip, total)

    return _steady(board, act)


def page_from(board: Board, *, stop: Stop, limit: int, band: Band | None = None) -> Page:
    """The entries next to where a reader stopped, whether or not that one is still there."""
    if _is_untouched(board.mode):
        return _EMPTY
    here = (board.placing.place(stop.score, stop.at or 0), stop.player)

    def act(reading: _Reading) -> Page:
        skip, total = _band(reading, band)
        ahead, behind = _near(reading, here, limit)
        least, greatest = _places(board, band)
        ordered = [one for one in (behind if stop.after else ahead) if least <= one[0] <= greatest]
        first = reading.counts("before", ordered[0][0], store.member(ordered[0][1]))[0] if ordered else 0
        return _paged(reading, ordered, first, skip, total)

    return _steady(board, act)


def _paged(reading: _Reading, ordered: Sequence[Position], first: int, skip: int, total: int | None) -> Page:
    """`first`: how many of the whole board stand before; `skip`: how many before the band."""
    found = reading.page(ordered, _ranks(reading, ordered, first=first + 1), total=total)
    more = bool(ordered) and first + len(ordered) < skip + found.total
    return replace(found, more_before=bool(ordered) and first > skip, more_after=more)


def _band(reading: _Reading, band: Band | None) -> tuple[int, int | None]:
    """How many stand before the band, and how many in it; None: the whole board."""
    if band is None:
        return 0, None
    least, greatest = _places(reading.board, band)
    before, upto = reading.counts("above", greatest, least - 1)
    return before, max(0, upto - before)


def _places(board: Board, band: Band | None) -> tuple[int, int]:
    """The least and the greatest place of a band."""
    low, high = (None, None) if band is None else (band.low, band.high)
    if board.placing.sign < 0:
        low, high = high, low
    least = -_BEYOND if low is None else board.placing.places_of(low)[0]
    greatest = _BEYOND if high is None else board.placing.places_of(high)[1]
    return min(max(least, -_BEYOND), _BEYOND), max(min(greatest, _BEYOND), -_BEYOND)


def _run(reading: _Reading, band: Band | None, offset: int, limit: int) -> list[Position]:
    alone = reading.board.mode.shards == 1
    first, count = (offset, limit) if alone else (0, offset + limit)  # which shard has them is only known by merging
    if band is None:
        flat = [answer.rest[0] for answer in reading.ask("range", first, first + count - 1)]
    else:
        least, greatest = _places(reading.board, band)
        flat = [answer.rest[1] for answer in reading.ask("band", greatest, least, first, count)]
    ordered = merge(*([(-place, player) for player, place in store.entries(head)] for head in flat))
    return [(-negative, player) for negative, player in ordered][offset - first :][:limit]


def standing(board: Board, player: int, *, neighbours: int = 0) -> tuple[Page, list[Entry], list[Entry]]:
    """The player's own entry (or none) with the board's totals, those above and those below."""
    if _is_untouched(board.mode):
        return _EMPTY, [], []

    def act(reading: _Reading) -> tuple[Page, list[Entry], list[Entry]]:
        here = _found(reading, [player]).get(player)
        if here is None:
            return reading.page([], []), [], []
        ahead, behind = _near(reading, here, neighbours) if neighbours else ([], [])
        run = [*ahead, here, *behind]
        found = reading.page(run, _ranks(reading, run))
        own = len(ahead)
        return replace(found, entries=[found.entries[own]]), found.entries[:own], found.entries[own + 1 :]

    return _steady(board, act)


def standings(board: Board, players: Sequence[int]) -> Page:
    """The entries of those among the players who are on the board."""
    if _is_untouched(board.mode):
        return _EMPTY

    def act(reading: _Reading) -> Page:
        found = list(_found(reading, players).values())
        return reading.page(found, _ranks(reading, found))

    return _steady(board, act)


def score_of(board: Board, player: int) -> int | None:
    """The raw score that the board has, in one trip and without a rank."""
    if _is_untouched(board.mode):
        return None
    found = _found(_Reading(board), [player]).get(player)
    return None if found is None else board.placing.score(found[0])


def _found(reading: _Reading, players: Sequence[int]) -> dict[int, Position]:
    answers = reading.ask("places", *map(store.member, players))
    own = [answers[shard_of(player, reading.board.mode.shards)].rest[0][n] for n, player in enumerate(players)]
    return {player: (int(float(place)), player) for player, place in zip(players, own, strict=True) if place}


def _near(reading: _Reading, here: Position, most: int) -> tuple[list[Position], list[Position]]:
    answers = reading.ask("near", here[0], store.member(here[1]), most)
    ahead = sorted((-place, player) for answer in answers for player, place in store.entries(answer.rest[0]))
    behind = sorted((-place, player) for answer in answers for player, place in store.entries(answer.rest[1]))
    return [(-place, player) for place, player in ahead[-most:]], [(-place, player) for place, player in behind[:most]]


def _ranks(reading: _Reading, places: Sequence[Position], *, first: int | None = None) -> list[int]:
    """Of each place; `first` where the places are a run of the board that begins there."""
    if not places:
        return []
    bits, ranking = reading.board.placing.bits, reading.board.mode.ranking
    if ranking == "unique" and first is not None:
        return list(range(first, first + len(places)))
    if ranking == "unique":
        asked = [value for place, player in places for value in (place, store.member(player))]
        counts = reading.counts("before", *asked)
    elif ranking == "dense":
        counts = reading.counts("keys_above", *(place >> bits for place, _ in places))
    else:
        counts = reading.counts("above", *(place | (1 << bits) - 1 for place, _ in places))
    return [1 + count for count in counts]
