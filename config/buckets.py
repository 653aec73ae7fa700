"""Buckets: how often somebody may do something, counted over all processes, without a trip to the server each time.

A process that asks the server for an entry takes some spare ones along, and gives them out for a second without asking
again; a bucket that was found empty is not asked for until it has an entry, or for a second. While the server does not
answer, each process counts alone.
"""

import threading
import time
from collections.abc import Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
from django.conf import settings

from config import valkey
from config.metrics import BUCKETS_ALONE

_MICROSECONDS = 1_000_000
_REMEMBERED = 1.0  # seconds, for what the server said
_SPARE_SECONDS = 0.1  # of a bucket's refill
_MOST_SPARE = 200
_PAUSE = 5.0  # seconds in which a server that failed is not asked: everybody would wait for it
_AT_ONCE = 500  # asks in one call: nobody else waits long for the server
_SLACK = 1e-6  # seconds: what is left of a float's rounding
_MOST_HELD = 50_000  # asks that are remembered; an attacker has addresses without end


class Rate(NamedTuple):
    """So many a second for as long as one likes, and `burst` at once."""

    per_second: float
    burst: int

    @property
    def interval(self) -> int:
        return max(1, round(_MICROSECONDS / self.per_second))


class Bucket(NamedTuple):
    """`name` is told to callers, `key` is where it is counted."""

    name: str
    key: str
    rate: Rate


Ask = tuple[Bucket, ...]  # an entry of each of them, or of none


class Taken(NamedTuple):
    wait: float  # seconds until there is an entry; 0: it was taken
    left: tuple[int, ...]  # entries in each bucket, about


class _Held:
    """What this process knows of an ask."""

    __slots__ = ("left", "said_at", "spare", "until", "wait_until")

    def __init__(self, left: tuple[int, ...], spare: int, wait: float, now: float) -> None:
        self.left, self.spare = left, spare
        self.said_at, self.until, self.wait_until = now, now + _REMEMBERED, now + wait

    def left_of(self, ask: Ask, now: float) -> tuple[int, ...]:
        since = now - self.said_at
        return tuple(
            min(bucket.rate.burst, int(left + self.spare + since * bucket.rate.per_second))
            for bucket, left in zip(ask, self.left, strict=True)
        )


class Buckets:
    """Of one process."""

    def __init__(self, *, most: int = _MOST_HELD) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: dict[tuple[str, ...], _Held] = {}
        self._alone: dict[str, float] = {}  # when each bucket is full again, while the server does not answer
        self._asked_again_at = 0.0

    def at_hand(self, ask: Ask) -> Taken | None:
        """Without asking the server. None: it has to be asked."""
        now = time.monotonic()
        with self._lock:
            return self._given(ask, now)

    def take(self, asks: Sequence[Ask]) -> list[Taken]:
        """In order; one call to the server for all those that are not known here."""
        now = time.monotonic()
        found: dict[int, Taken] = {}
        missing: dict[Ask, list[int]] = {}
        with self._lock:
            for index, ask in enumerate(asks):
                given = self._given(ask, now)
                if given is None:
                    missing.setdefault(ask, []).append(index)
                else:
                    found[index] = given
        unknown = list(missing)
        for first in range(0, len(unknown), _AT_ONCE):
            some = {ask: missing[ask] for ask in unknown[first : first + _AT_ONCE]}
            found |= self._asked(some)
        return [found[index] for index in range(len(asks))]

    def forget(self) -> None:
        with self._lock:
            self._held.clear()
            self._alone.clear()
            self._asked_again_at = 0.0

    def _given(self, ask: Ask, now: float) -> Taken | None:
        held = self._held.get(tuple([bucket.key for bucket in ask]))
        if held is None or now >= held.until:
            return None
        if held.spare > 0:
            held.spare -= 1
            return Taken(0.0, held.left_of(ask, now))
        if now < held.wait_until:
            return Taken(held.wait_until - now, (0,) * len(ask))
        return None

    def _asked(self, wanted: dict[Ask, list[int]]) -> dict[int, Taken]:
        if time.monotonic() >= self._asked_again_at:
            try:
                return self._told(wanted, _call({ask: len(indexes) for ask, indexes in wanted.items()}))
            except valkey.ValkeyUnavailable:
                self._asked_again_at = time.monotonic() + _PAUSE
        BUCKETS_ALONE.inc(sum(len(indexes) for indexes in wanted.values()))
        with self._lock:
            return {index: self._take_alone(ask) for ask, indexes in wanted.items() for index in indexes}

    def _told(self, wanted: dict[Ask, list[int]], answers: "Sequence[_Answer]") -> dict[int, Taken]:
        found: dict[int, Taken] = {}
        now = time.monotonic()
        with self._lock:
            for (ask, indexes), answer in zip(wanted.items(), answers, strict=True):
                key = tuple([bucket.key for bucket in ask])
                before = self._held.pop(key, None)  # another thread may have asked meanwhile
                spare = answer.spare + (before.spare if before is not None and now < before.until else 0)
                self._make_room(self._held)
                held = self._held[key] = _Held(answer.left, spare, answer.wait, now)
                good = Taken(0.0, held.left_of(ask, now))
                bad = Taken(answer.wait, (0,) * len(ask))
                found |= {index: good if n < answer.taken else bad for n, index in enumerate(indexes)}
        return found

    def _take_alone(self, ask: Ask) -> Taken:
        now = time.monotonic()
        full = [self._full_alone(bucket, now) + 1 / bucket.rate.per_second for bucket in ask]
        wait = max(at - now - bucket.rate.burst / bucket.rate.per_second for at, bucket in zip(full, ask, strict=True))
        if wait > _SLACK:
            return Taken(wait, (0,) * len(ask))
        for at, bucket in zip(full, ask, strict=True):
            self._make_room(self._alone)
            self._alone[bucket.key] = at
        left = (int(one.rate.burst - (at - now) * one.rate.per_second) for at, one in zip(full, ask, strict=True))
        return Taken(0.0, tuple(left))

    def _full_alone(self, bucket: Bucket, now: float) -> float:
        """Never later than that of an empty one: what is known may be from a slower rate."""
        known, empty = self._alone.get(bucket.key, 0.0), now + bucket.rate.burst / bucket.rate.per_second
        if known > empty:
            self._alone[bucket.key] = known = empty
        return max(known, now)

    def _make_room(self, kept: dict[Any, Any]) -> None:
        """The oldest go."""
        while len(kept) >= self._most:
            del kept[next(iter(kept))]


class _Answer(NamedTuple):
    taken: int
    spare: int
    wait: float
    left: tuple[int, ...]


def _call(wanted: dict[Ask, int]) -> list[_Answer]:
    rates = {bucket.key: bucket.rate for ask in wanted for bucket in ask}
    index = {key: number for number, key in enumerate(rates, 1)}
    items = [(many, _spare(ask), [index[bucket.key] for bucket in ask]) for ask, many in wanted.items()]
    limits = [(rate.interval, rate.burst) for rate in rates.values()]
    packed = msgpack.packb(limits), msgpack.packb(items)
    taken, spares, waits, debts = valkey.cache_call(
        _library(), "rung_buckets_1_take", list(index), *packed, 2 * settings.WEB_PROCESSES
    )
    left = {
        key: max(0, rate.burst - ceil(debt / rate.interval))
        for (key, rate), debt in zip(rates.items(), debts, strict=True)
    }
    return [
        _Answer(taken[n], spares[n], waits[n] / _MICROSECONDS, tuple(left[bucket.key] for bucket in ask))
        for n, ask in enumerate(wanted)
    ]


def _spare(ask: Ask) -> int:
    return min(_MOST_SPARE, *(int(bucket.rate.per_second * _SPARE_SECONDS) for bucket in ask))


@cache
def _library() -> str:
    return (Path(__file__).parent / "functions" / "buckets.lua").read_text(encoding="utf-8")


buckets = Buckets()
