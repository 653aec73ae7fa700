"""Pending rows that were split over another number of shards than their mode has: by who read the mode earlier."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection

from leaderboards import outbox
from leaderboards.outbox import Players, ScoreRow, Scores, Stream, decode_players, decode_scores, shard_of
from leaderboards.projection import Outbox


class _Row(NamedTuple):
    shard: int
    kind: int
    payload: bytes
    tries: int
    created_at: datetime


def rows_resplit(*, mode: int, shards: int) -> list[Stream]:
    """Moves all of a mode's to their streams; the streams to ring for. Part of stamping's own transaction.

    Before it takes its rows: a player who is told anew from the log must have nothing pending anywhere else.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM leaderboards_outbox WHERE mode_id = %s AND (shards < %s OR shards > %s)"
            " RETURNING shard, kind, payload, tries, created_at",
            [mode, shards, shards],
        )
        rows = [_Row(*row) for row in cursor.fetchall()]
        moved = [
            (mode, shard, shards, row.kind, payload, row.tries, row.created_at)
            for row in rows
            for shard, payload in _parts(row, shards).items()
        ]
        cursor.executemany(
            "INSERT INTO leaderboards_outbox (mode_id, shard, shards, kind, payload, tries, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            moved,
        )
    return sorted({(mode, one[1]) for one in moved})


def _parts(row: _Row, shards: int) -> dict[int, bytes]:
    try:
        return _scores(row, shards) if row.kind == Outbox.Kind.SCORES else _players(row, shards)
    except ValueError:  # msgspec's are; whichever stream gets it sets it aside
        return {row.shard % shards: row.payload}


def _scores(row: _Row, shards: int) -> dict[int, bytes]:
    told = decode_scores(row.payload)
    parts: dict[int, list[ScoreRow]] = {}
    for score in told.rows:
        parts.setdefault(shard_of(score.player, shards), []).append(score)
    return {shard: outbox.encode(Scores(told.version, some, told.arrived)) for shard, some in parts.items()}


def _players(row: _Row, shards: int) -> dict[int, bytes]:
    told = decode_players(row.payload)
    parts: dict[int, list[int]] = {}
    for player in told.players:
        parts.setdefault(shard_of(player, shards), []).append(player)
    return {shard: outbox.encode(Players(told.version, some)) for shard, some in parts.items()}
