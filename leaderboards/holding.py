"""Attempts that are not to count, set so in the log; and what else of an attempt only the log knows."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from config.sql import numbers, texts
from leaderboards.log import State


class Held(NamedTuple):
    """One that is not to count, and why: as its player may know it."""

    player: int
    id: int
    state: State
    reasons: list[str]


class Known(NamedTuple):
    """What an outbox row does not say of an attempt."""

    player: int
    attempt_id: UUID
    received_at: datetime
    score: int
    state: State


def hold_back(attempts: Sequence[Held], *, since: datetime | None = None, counted_as: State = State.ACCEPTED) -> None:
    """They count nowhere: until somebody looks at them, or at all. `since`: none has arrived earlier.

    Those that are by now something else than `counted_as` stay it.
    """
    if not attempts:
        return
    columns = [numbers(one.player for one in attempts), numbers(one.id for one in attempts)]
    columns += [numbers(one.state.value for one in attempts), texts(json.dumps(one.reasons) for one in attempts)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE score_attempts a SET state = i.state, reasons = coalesce(a.reasons, '[]') || i.reasons::jsonb
            FROM unnest(%s::bigint[], %s::bigint[], %s::smallint[], %s::text[]) AS i (player_id, id, state, reasons)
            WHERE a.player_id = i.player_id AND a.id = i.id AND a.state = %s
                AND a.received_at >= coalesce(%s, '-infinity'::timestamptz)
            """,
            [*columns, counted_as, since],
        )


def known(attempts: Sequence[tuple[int, int, int]]) -> dict[int, Known]:
    """By id, those of (player, id, microseconds of arrival)."""
    columns = [numbers(column) for column in zip(*attempts, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT a.id, a.player_id, a.attempt_id, a.received_at, a.score, a.state
            FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS i (player, id, received)
            CROSS JOIN LATERAL (
                SELECT * FROM score_attempts s WHERE s.player_id = i.player AND s.id = i.id
                    AND s.received_at = to_timestamp(0) + i.received * interval '1 microsecond' LIMIT 1
            ) a
            """,
            columns,
        )
        return {id_: Known(*row) for id_, *row in cursor.fetchall()}
