"""Instants as whole microseconds since 1970: how payloads, effects, cursors and Valkey hold them."""

from datetime import UTC, datetime, timedelta
from typing import Final

MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def micros(instant: datetime) -> int:
    return (instant - _EPOCH) // MICROSECOND


def instant_of(since_1970: int) -> datetime:
    """In UTC."""
    return _EPOCH + since_1970 * MICROSECOND
