"""What a player has done of late, for charts: the newest attempts, so many at most however many there are."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connections

from config import replica
from leaderboards.log import State

SPAN = timedelta(days=90)
MOST = 1000


class Done(NamedTuple):
    """One attempt, its score raw. What does not count was held back, refused or taken back."""

    mode: int
    score: int
    at: datetime
    counts: bool


class Career(NamedTuple):
    """Oldest first. `since`: where there were more than so many, when the first of these came in."""

    done: list[Done]
    since: datetime | None


def career(player: int, *, now: datetime, whole: bool) -> Career:
    """`whole`: for who may know of all attempts; others are told of what counts, and only of modes whose boards list
    the player. May be a second behind.
    """
    rows = replica.read(lambda database: _rows(database, [player, now - SPAN, MOST, player]))
    done = [
        Done(mode, score, at, state == State.ACCEPTED)
        for mode, score, at, state, _received_at, listed in rows
        if whole or (listed and state == State.ACCEPTED)
    ]
    since = min(received_at for *_, received_at, _listed in rows) if len(rows) == MOST else None
    return Career(sorted(done, key=lambda one: one.at), since)


def _rows(database: str, params: list[Any]) -> list[tuple[int, int, datetime, int, datetime, bool]]:
    with connections[database].cursor() as cursor:
        cursor.execute(_NEWEST, params)
        return list(cursor.fetchall())


_NEWEST = """
SELECT a.mode_id, a.score, a.achieved_at, a.state, a.received_at, l.mode_id IS NOT NULL FROM (
    SELECT mode_id, score, achieved_at, state, received_at FROM score_attempts
    WHERE player_id = %s AND received_at >= %s ORDER BY received_at DESC, id DESC LIMIT %s
) a LEFT JOIN leaderboards_placement l ON l.mode_id = a.mode_id AND l.player_id = %s AND l.listed
"""
