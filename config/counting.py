"""Counts that end by themselves, shared by all processes in the cache server. While it does not answer, each process
counts alone.
"""

import time
from threading import Lock
from typing import NamedTuple

from django.conf import settings

from config import valkey

MOST = 10_000  # counts that a process holds; beyond, the oldest are forgotten
_AWAY = 5.0  # seconds in which a server that did not answer is not asked again
_alone: dict[tuple[str, str], tuple[int, float]] = {}  # by server and name: the count, and when it ends
_away: dict[str, float] = {}  # by server: until when
_counting = Lock()


class Step(NamedTuple):
    name: str
    seconds: int  # that the count lives, from its first step
    by: int = 1


class Count(NamedTuple):
    value: int
    seconds_left: int


def count(*steps: Step) -> list[Count]:
    """What each comes to."""
    server = settings.CACHE_URL
    if time.monotonic() >= _away.get(server, 0.0):
        try:
            return [Count(*counted) for counted in valkey.cache_count(steps)]
        except valkey.ValkeyUnavailable:
            _away[server] = time.monotonic() + _AWAY
    return [_count_alone(server, step) for step in steps]


def _count_alone(server: str, step: Step) -> Count:
    now, key = time.monotonic(), (server, step.name)
    with _counting:
        value, ends = _alone.get(key, (0, 0.0))
        if ends <= now:
            _alone.pop(key, None)  # so that it is the youngest again
            value, ends = 0, now + step.seconds
        _alone[key] = value + step.by, ends
        while len(_alone) > MOST:
            del _alone[next(iter(_alone))]
    return Count(value + step.by, max(1, round(ends - now)))


def held() -> int:
    """How many counts this process holds itself."""
    return len(_alone)


def forget() -> None:
    """For tests."""
    _alone.clear()
    _away.clear()
