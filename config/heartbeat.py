"""Signs of life from processes that answer no requests: the worker's last finished task, beat's last tick."""

import time

from config import valkey

STALE_AFTER = 30  # seconds; a beat ticks every five
_KEPT = 24 * 3600


def note(who: str) -> None:
    valkey.cache_set(f"rung:heartbeat:{who}", repr(time.time()), seconds=_KEPT)


def forget() -> None:
    """Signs of processes that an earlier start had, and that would pass for ours."""
    for who in ("worker", "beat"):
        valkey.cache_take(f"rung:heartbeat:{who}")


def age(who: str) -> float | None:
    """Seconds since the last sign of life; None where there never was one."""
    at = valkey.cache_get(f"rung:heartbeat:{who}")
    return None if at is None else max(0.0, time.time() - float(at))
