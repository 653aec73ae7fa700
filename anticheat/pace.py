"""Buckets in Valkey: how often somebody may do something, and where somebody was last. One call for what is asked
together (some for very many); for all processes, because the server counts.
"""

import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
from msgspec import Struct

from config import valkey
from config.metrics import PACE_UNKNOWN

_MICROSECONDS = 1_000_000
_PAUSE = 5.0  # seconds in which a server that failed is not asked: everybody would wait for it
_MOST = 500  # turns a call: whatever is asked for, nobody else waits long for the server
_asked_again_at = 0.0


class Rate(Struct, frozen=True):
    """So many a second for as long as one likes, and `burst` at once. Nothing a second: no limit."""

    per_second: float
    burst: int

    @property
    def interval(self) -> int:
        return max(1, round(_MICROSECONDS / self.per_second))


class Place(NamedTuple):
    """Where a player is now; an empty text is not known. Remembered under `key` for some seconds."""

    key: str
    address: str
    device: str
    seconds: int


class Before(NamedTuple):
    """Where it was last, and how long ago."""

    seconds: float
    address: str
    device: str


class Turn(NamedTuple):
    """One that wants to pass: it takes an entry from each of its buckets, or from none."""

    buckets: Sequence[tuple[str, Rate]]
    place: Place | None = None


class Passed(NamedTuple):
    wait: float  # seconds; 0: it may
    before: Before | None


def pass_through(turns: Sequence[Turn]) -> list[Passed] | None:
    """In order. None where the server does not answer: then nobody is held up, and that is counted."""
    global _asked_again_at  # noqa: PLW0603 - of this process
    if time.monotonic() >= _asked_again_at:
        try:
            return [one for first in range(0, len(turns), _MOST) for one in _asked(turns[first : first + _MOST])]
        except valkey.ValkeyUnavailable:
            _asked_again_at = time.monotonic() + _PAUSE
    PACE_UNKNOWN.inc(len(turns))
    return None


def _asked(turns: Sequence[Turn]) -> list[Passed]:
    rates = {key: rate for turn in turns for key, rate in turn.buckets}
    index = {key: number for number, key in enumerate(rates, 1)}
    items = [[index[key] for key, _ in turn.buckets] for turn in turns]
    for turn in turns:
        if turn.place:
            index.setdefault(turn.place.key, len(index) + 1)
    places = [
        (number, index[turn.place.key], turn.place.address, turn.place.device, turn.place.seconds)
        for number, turn in enumerate(turns, 1)
        if turn.place
    ]
    limits = [(rate.interval, rate.burst) for rate in rates.values()]
    packed = [msgpack.packb(part) for part in (limits, items, places)]
    _, waits, before = valkey.cache_call(_library(), "rung_pace_1_pass", list(index), *packed)
    known = {place[0]: _before(found) for place, found in zip(places, before, strict=True)}
    return [Passed(wait / _MICROSECONDS, known.get(number)) for number, wait in enumerate(waits, 1)]


def _before(found: Any) -> Before | None:
    return Before(int(found[0]) / _MICROSECONDS, found[1].decode(), found[2].decode()) if found else None


@cache
def _library() -> str:
    return (Path(__file__).parent / "functions" / "pace.lua").read_text(encoding="utf-8")
