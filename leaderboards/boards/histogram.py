"""The histogram of a board, made in calls so small that nobody who writes or reads meanwhile waits for one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import sample

from leaderboards.boards import store
from leaderboards.boards.board import Board, Replaced
from leaderboards.rules.histogram import (
    Bound,
    Histogram,
    histogram_of,
    histogram_of_keys,
    histogram_of_tally,
    keys_to_count,
    ranks_to_pick,
)

BUCKETS = 1000
SMALL = 1000  # members that are read in one call, all of them
ASKED_A_CALL = 50  # ranks or keys
_LEAST_A_SHARD = 100  # picks: fewer would tell too little of it, however many shards there are
_LOOKED_AT = 20  # members, for the error


@dataclass(frozen=True, slots=True)
class Made:
    """`version`: the sum of the marks when it was begun. `whole`: it is the board itself, key by key."""

    version: int
    histogram: Histogram
    whole: bool


def histogram_make(board: Board) -> Made:
    """A small board in one trip and of one moment; a large one in some ten for each shard."""
    width, most = 1 << board.placing.bits, SMALL // board.mode.shards
    try:
        answers = board.read("tally", width, most)
    except Replaced as replaced:
        return histogram_make(replaced.board)
    version, sizes = sum(answer.mark for answer in answers), [answer.members for answer in answers]
    dense = board.mode.ranking == "dense"
    if max(sizes) <= most:
        tally = ((key, count) for answer in answers for key, count in _grouped(answer.rest[0], 2))
        return Made(version, histogram_of_tally(tally, dense=dense), whole=True)
    bounds = _picked(board, 0, sizes[0], BUCKETS) if len(sizes) == 1 else _merged(board, sizes)
    distinct = histogram_of_keys(_greater(board, [bound.key for bound in bounds])) if dense else None
    return Made(version, histogram_of(bounds, distinct=distinct), whole=False)


def errors(board: Board, histogram: Histogram) -> list[float]:
    """Of some members' ranks as the histogram tells them now: how far off they are, as a share of the board."""
    (answer,) = _ask(board, 0, "range", 0, 0)
    ranks = sorted(sample(range(answer.members), min(_LOOKED_AT, answer.members)))
    keys = [bound.key for bound in _at(board, 0, ranks)]
    above = [bound.above for bound in _counted(board, keys)]
    members = max(1, histogram.total)
    return [abs(histogram.count_above(key) - exact) / members for key, exact in zip(keys, above, strict=True)]


def _merged(board: Board, sizes: Sequence[int]) -> list[Bound]:
    """Of several shards: picked in each, brought together, and then counted in all of them."""
    buckets = min(BUCKETS, max(_LEAST_A_SHARD, 4 * BUCKETS // len(sizes)))
    picked = [_picked(board, shard, members, buckets) for shard, members in enumerate(sizes)]
    return _counted(board, keys_to_count(picked, BUCKETS))


def _picked(board: Board, shard: int, members: int, buckets: int) -> list[Bound]:
    found = {bound.key: bound for bound in _at(board, shard, ranks_to_pick(members, buckets))}
    return sorted(found.values(), reverse=True)


def _at(board: Board, shard: int, ranks: Sequence[int]) -> Iterator[Bound]:
    for some in _grouped(ranks, ASKED_A_CALL):
        (answer,) = _ask(board, shard, "picks", 1 << board.placing.bits, *some)
        yield from (Bound(*bound) for bound in _grouped(answer.rest[0], 3))


def _counted(board: Board, keys: Sequence[int]) -> list[Bound]:
    counts = [(0, 0)] * len(keys)
    for shard in range(board.mode.shards):
        own = (pair for some in _grouped(keys, ASKED_A_CALL) for pair in _around(board, shard, some))
        counts = [(above + more, upto + most) for (above, upto), (more, most) in zip(counts, own, strict=True)]
    return [Bound(key, above, upto) for key, (above, upto) in zip(keys, counts, strict=True)]


def _around(board: Board, shard: int, keys: Sequence[int]) -> Iterator[Sequence[int]]:
    (answer,) = _ask(board, shard, "around", 1 << board.placing.bits, *keys)
    return _grouped(answer.rest[0], 2)


def _greater(board: Board, keys: Sequence[int]) -> dict[int, int]:
    """How many distinct keys are greater than each; a dense board has one shard."""
    found: dict[int, int] = {}
    for some in _grouped(keys, ASKED_A_CALL):
        (answer,) = _ask(board, 0, "keys_above", *some)
        found |= zip(some, answer.rest[0], strict=True)
    return found


def _ask(board: Board, shard: int, function: str, *args: object) -> list[store.Answer]:
    return store.read(function, [board.slot(shard)], board.window.id, board.scope, *args)


def _grouped(values: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (values[first : first + size] for first in range(0, len(values), size))
