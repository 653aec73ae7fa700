"""How many stand above a score, told from about a thousand bounds of a board instead of from the board.

A bound is a key that somebody has (the score, turned so that more is better), with exact counts on both sides of it.
Bounds are picked so that about as many members lie between any two neighbours: what is interpolated between them is at
most that many wrong, whatever the scores look like, and a key that many share is a bound of its own, and exact.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate
from operator import neg
from typing import NamedTuple


class Bound(NamedTuple):
    key: int
    above: int  # how many have a greater key
    upto: int  # how many have a greater key or this one


class Part(NamedTuple):
    """Keys from `worst` to `best`, both included."""

    worst: int
    best: int
    members: int


def _none() -> "array[int]":
    return array("q")


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bounds of a board, best first, in columns."""

    total: int = 0
    keys: "array[int]" = field(default_factory=_none)
    above: "array[int]" = field(default_factory=_none)
    upto: "array[int]" = field(default_factory=_none)
    distinct: "Histogram | None" = None  # of keys instead of members, where ranks are dense

    def count_above(self, key: int) -> int:
        """About how many have a greater key; exactly, where the key is a bound."""
        index = bisect_left(self.keys, -key, key=neg)  # the first bound that is not greater
        if index == len(self.keys):
            return self.total
        if self.keys[index] == key or index == 0:
            return self.above[index]
        nearest, between = self.upto[index - 1], self.above[index] - self.upto[index - 1]
        keys = self.keys[index - 1] - self.keys[index] - 1  # that may have them
        passed = self.keys[index - 1] - 1 - key
        return nearest + (2 * between * passed + keys) // (2 * keys)

    def rank(self, key: int, *, without: int | None = None) -> int:
        """About the rank that a score with this key has: of those who share it, the first one's.

        `without`: the key of one who is not to be counted, for it is who moves.
        """
        rank = 1 + (self.distinct or self).count_above(key)
        if without is not None and without > key and (self.distinct is None or self._is_alone(without)):
            rank -= 1
        return max(1, rank)

    def _is_alone(self, key: int) -> bool:
        index = bisect_left(self.keys, -key, key=neg)
        return self.keys[index : index + 1] == array("q", [key]) and self.upto[index] - self.above[index] == 1

    def parts(self, most: int) -> Iterator[Part]:
        """At most so many, best first, with about as many members each. Counts are exact and add up to the total."""
        start = 0
        for end in self._cuts(most):
            empty = start == 0 or self.above[start] == self.upto[start - 1]
            best = self.keys[start] if empty else self.keys[start - 1] - 1
            yield Part(self.keys[end], best, self.upto[end] - (self.upto[start - 1] if start else 0))
            start = end + 1

    def _cuts(self, most: int) -> list[int]:
        """The last bound of each part."""
        if len(self.keys) <= most:
            return list(range(len(self.keys)))
        return sorted({*(self._nearest(self.total * part // most) for part in range(1, most)), len(self.keys) - 1})

    def _nearest(self, count: int) -> int:
        index = bisect_left(self.upto, count)
        return index - 1 if index and count - self.upto[index - 1] <= self.upto[index] - count else index


def ranks_to_pick(members: int, buckets: int) -> list[int]:
    """Ranks from 0, evenly spread from the first to the last; near the top closer, where people count single ranks."""
    if members <= buckets:
        return list(range(members))
    step = members // buckets
    near = (1 << power for power in range((step - 1).bit_length()))
    return sorted({*near, *(members * part // buckets for part in range(buckets)), members - 1})


def histogram_of(bounds: Iterable[Bound], *, distinct: Histogram | None = None) -> Histogram:
    """Of bounds that reach from the best to the worst member. Read while the board moves they may contradict each
    other a little: then each begins where the one before it ends.
    """
    found = {bound.key: bound for bound in bounds}
    keys = array("q", sorted(found, reverse=True))
    above, upto, last = _none(), _none(), 0
    for bound in map(found.__getitem__, keys):
        above.append(max(bound.above, last))
        last = max(bound.upto, above[-1])
        upto.append(last)
    return Histogram(last, keys, above, upto, distinct)


def histogram_of_keys(greater: Mapping[int, int]) -> Histogram:
    """Of distinct keys: each is there once, and so many are greater."""
    return histogram_of(Bound(key, above, above + 1) for key, above in greater.items())


def histogram_of_tally(tally: Iterable[tuple[int, int]], *, dense: bool) -> Histogram:
    """Exactly, from all keys and how many members have each; a key may come from several shards."""
    counts: dict[int, int] = {}
    for key, count in tally:
        counts[key] = counts.get(key, 0) + count
    ordered = sorted(counts, reverse=True)
    sums = accumulate(counts[key] for key in ordered)
    bounds = [Bound(key, upto - counts[key], upto) for key, upto in zip(ordered, sums, strict=True)]
    distinct = histogram_of_keys({key: above for above, key in enumerate(ordered)}) if dense else None
    return histogram_of(bounds, distinct=distinct)


def with_member(found: Histogram, key: int) -> Histogram:
    """As it is with one more, who has this key."""
    columns = zip(found.keys, found.above, found.upto, strict=True)
    bounds = {one: Bound(one, above + (one < key), upto + (one <= key)) for one, above, upto in columns}
    above = found.count_above(key)
    bounds.setdefault(key, Bound(key, above, above + 1))
    distinct = found.distinct
    if distinct is not None and key not in distinct.keys:
        distinct = with_member(distinct, key)
    return histogram_of(bounds.values(), distinct=distinct)


def keys_to_count(shards: Sequence[Sequence[Bound]], buckets: int) -> list[int]:
    """From what was picked in each shard, best first: the keys at about the ranks that a single board would be asked.

    Each shard tells its own counts only, so the keys have to be counted in all of them afterwards.
    """
    members = sum(bounds[-1].upto for bounds in shards if bounds)
    wanted = iter(ranks_to_pick(members, buckets))
    rank, passed, taken = next(wanted, 0), 0, []
    for negative, more in merge(*map(_steps, shards)):
        passed += more
        if rank < passed:
            taken.append(-negative)
            rank = next((one for one in wanted if one >= passed), members)
    return list(dict.fromkeys(taken))


def _steps(bounds: Sequence[Bound]) -> Iterator[tuple[int, int]]:
    """Each key, negative, and by how many members it is further down than the one before it."""
    for before, bound in zip([0, *(bound.upto for bound in bounds)], bounds, strict=False):
        yield -bound.key, bound.upto - before
