"""Reads that may be a second behind: by PostgreSQL's replica where there is one, by the primary whenever it is away or
further behind (docs/adr/0019). Never for who has to see what was just written.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.db import Error, connections

from config.metrics import REPLICA_PASSED_OVER

log = structlog.get_logger(__name__)
T = TypeVar("T")
PRIMARY, REPLICA = "default", "replica"
BEHIND = 1.0  # seconds, at most
REST = 5.0  # seconds in which one that failed is not asked again: connecting to it may take three


class _Known:
    """What this process knows of both: where the primary was lately, and until when the replica rests."""

    def __init__(self) -> None:
        self.rests_until = self.at = float("-inf")
        self.position = ""
        self.lock = threading.Lock()

    def recent(self) -> str:
        """A position in the log that the primary had within the last second, written out yet or not."""
        with self.lock:
            now = time.monotonic()
            if now - self.at >= BEHIND:
                self.position, self.at = _asked(PRIMARY, "SELECT pg_current_wal_insert_lsn()::text"), now
            return self.position


_known = _Known()


def read(act: Callable[[str], T]) -> T:
    """`act` is given the name of the database to ask; it may be called twice."""
    if REPLICA not in connections.settings or time.monotonic() < _known.rests_until:
        return act(PRIMARY)
    recent = _known.recent()
    try:
        if _asked(REPLICA, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", recent):
            return act(REPLICA)
        REPLICA_PASSED_OVER.labels("behind").inc()
    except Error as error:
        _known.rests_until = time.monotonic() + REST
        REPLICA_PASSED_OVER.labels("away").inc()
        log.warning("replica_away", why=str(error).strip(), consequence=f"the primary is asked for {REST:.0f} s")
        connections[REPLICA].close()
    return act(PRIMARY)


def forget() -> None:
    _known.__init__()  # type: ignore[misc]


def replica_check() -> str:
    """For `doctor`: whether it answers, and how far it is behind."""
    position, began = _asked(PRIMARY, "SELECT pg_current_wal_lsn()::text"), time.monotonic()
    while missing := _asked(REPLICA, "SELECT greatest(0, %s::pg_lsn - pg_last_wal_replay_lsn())", position):
        if time.monotonic() - began > BEHIND:
            at = _asked(REPLICA, "SELECT 'at ' || date_trunc('second', pg_last_xact_replay_timestamp())::text")
            shown = at or "with no transaction since it was started"
            raise RuntimeError(f"It is {missing:,} bytes behind, {shown}: the primary answers in its place.")
        time.sleep(0.01)
    if not _asked(REPLICA, "SELECT pg_is_in_recovery()"):
        raise RuntimeError("DATABASE_REPLICA_URL names no streaming replica: that server is a primary itself.")
    return f"it shows all that the primary had {time.monotonic() - began:.2f} s ago"


def _asked(database: str, question: str, *values: str) -> Any:
    with connections[database].cursor() as cursor:
        cursor.execute(question, values)
        return cursor.fetchone()[0]
