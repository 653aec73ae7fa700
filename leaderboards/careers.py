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


def career(player: int, *, now: datetime, whole: bool) -> list[Done]:
    """Oldest first. `whole`: for who may know of all attempts; others are told of what counts, and only of modes whose
    boards list the player. May be a second behind.
    """
    newest = [player, now - SPAN, MOST]
    if whole:
        rows = replica.read(lambda database: _rows(database, _NEWEST, newest))
    else:
        rows = replica.read(lambda database: _rows(database, _NEWEST + _LISTED, [*newest, player, State.ACCEPTED]))
    done = [Done(mode, score, at, state == State.ACCEPTED) for mode, score, at, state in rows]
    return sorted(done, key=lambda one: one.at)


def _rows(database: str, statement: str, params: list[Any]) -> list[tuple[int, int, datetime, int]]:
    with connections[database].cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


_NEWEST = """
SELECT a.mode_id, a.score, a.achieved_at, a.state FROM (
    SELECT mode_id, score, achieved_at, state FROM score_attempts
    WHERE player_id = %s AND received_at >= %s ORDER BY received_at DESC, id DESC LIMIT %s
) a
"""
_LISTED = """
JOIN leaderboards_placement l ON l.mode_id = a.mode_id AND l.player_id = %s AND l.listed WHERE a.state = %s
"""
