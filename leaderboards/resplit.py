"""Pending rows that were split over another number of shards than their mode has: by who read the mode earlier."""

from datetime import datetime
from typing import NamedTuple

from django.db import connection

from leaderboards import outbox
from leaderboards.keys import Lock
from leaderboards.outbox import Players, ScoreRow, decode_players, decode_scores, shard_of
from leaderboards.projection import Outbox


class _Row(NamedTuple):
    shard: int
    kind: int
    payload: bytes
    tries: int
    created_at: datetime


class BeingMoved(Exception):
    """Another has the rows, and rings for every stream when they are where they belong."""


def rows_resplit(*, mode: int, shards: int) -> bool:
    """Moves all of a mode's to their streams; whether there were any. Part of stamping's own transaction.

    Before it takes its rows: a player who is told anew from the log must have nothing pending anywhere else.
    """
    others = "mode_id = %s AND (shards < %s OR shards > %s)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT FROM leaderboards_outbox WHERE {others} LIMIT 1", [mode, shards, shards])
        if not cursor.rowcount:
            return False
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [Lock.RESPLIT, mode])
        if not cursor.fetchone()[0]:
            raise BeingMoved
        cursor.execute(
            f"DELETE FROM leaderboards_outbox WHERE {others} RETURNING shard, kind, payload, tries, created_at",  # noqa: S608 - as above
            [mode, shards, shards],
        )
        rows = [_Row(*row) for row in cursor.fetchall()]
        cursor.executemany(
            "INSERT INTO leaderboards_outbox (mode_id, shard, shards, kind, payload, tries, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (mode, shard, shards, row.kind, payload, row.tries, row.created_at)
                for row in rows
                for shard, payload in _parts(row, shards).items()
            ],
        )
    return True


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
    return {shard: outbox.encode(outbox.columns(some, arrived=told.arrived)) for shard, some in parts.items()}


def _players(row: _Row, shards: int) -> dict[int, bytes]:
    told = decode_players(row.payload)
    parts: dict[int, list[int]] = {}
    for player in told.players:
        parts.setdefault(shard_of(player, shards), []).append(player)
    return {shard: outbox.encode(Players(told.version, some)) for shard, some in parts.items()}
