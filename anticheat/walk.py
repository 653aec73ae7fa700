"""The log of one mode in order of arrival, day by day: one sort a day, and some thousand rows in memory at a time."""

from collections.abc import Iterator
from datetime import date, datetime
from math import log
from uuid import UUID

from django.db import connection, transaction

from anticheat.trail import Seen
from leaderboards import partitions
from leaderboards.log import State
from leaderboards.models import Mode

ROWS = 5000  # fetched at once
_Row = tuple[int, int, UUID, int, datetime, float, bool, str, str, str]  # as _ATTEMPTS tells it


def attempts(mode: Mode, day: date, *, part: int, parts: int) -> Iterator[list[Seen]]:
    """Of the players whose number leaves `part` when divided by `parts`. What was rejected or taken back is not among
    them: of that all is said.
    """
    with transaction.atomic(), connection.cursor() as setting:
        setting.execute("SET LOCAL work_mem = '64MB'")
        with connection.chunked_cursor() as cursor:
            kept = [State.ACCEPTED, State.QUARANTINED]
            cursor.execute(_ATTEMPTS, [mode.pk, *partitions.span_of(day), kept, parts, part])
            while rows := cursor.fetchmany(ROWS):
                yield [_seen(mode, row) for row in rows]


def standings_before(mode: Mode, at: datetime, *, part: int, parts: int) -> dict[int, int]:
    """What players had then: their best, their total or their last, as the mode counts."""
    what = {"sum": "sum(score)", "latest": "(array_agg(score ORDER BY achieved_at DESC, id DESC))[1]"}
    best = "max(score)" if mode.order == "desc" else "min(score)"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT player_id, ({what.get(mode.aggregation, best)})::bigint FROM score_attempts"  # noqa: S608 - ours
            " WHERE mode_id = %s AND received_at < %s AND state = %s AND mod(player_id, %s) = %s GROUP BY player_id",
            [mode.pk, at, State.ACCEPTED, parts, part],
        )
        return dict(cursor.fetchall())


def _seen(mode: Mode, row: _Row) -> Seen:
    score = row[3]
    if score <= 0:
        return Seen._make((*row, 0, None))
    return Seen._make((*row, score / 10**mode.decimals, log(score)) if mode.order == "desc" else (*row, 0, -log(score)))


_ATTEMPTS = f"""
SELECT id, player_id, attempt_id, score, received_at, extract(epoch FROM achieved_at)::float8,
    state = {State.ACCEPTED:d}, coalesce(client->>'device', ''), coalesce(client->>'session_id', ''),
    coalesce(client->>'address', '')
FROM score_attempts
WHERE mode_id = %s AND received_at >= %s AND received_at < %s AND state = ANY(%s) AND mod(player_id, %s) = %s
ORDER BY received_at, id
"""  # noqa: S608 - the text is ours
