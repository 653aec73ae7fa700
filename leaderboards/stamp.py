"""A batch of one (mode, shard): number it, and freeze its effect. One transaction, one snapshot, one consumer."""

from datetime import datetime

from django.db import connection, transaction

from leaderboards import effects, standings
from leaderboards.models import Mode, Outbox
from leaderboards.outbox import ScoreRow, decode_players, decode_scores

PLAYERS_A_BATCH = 1000  # keeps one call to Valkey short


class Busy(Exception):
    """Another consumer has the stream."""


def stream_stamp(*, mode: Mode, shard: int, now: datetime) -> int:
    """Stamps all that is pending; the number of the last batch."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        # a correction counts attempts in the log: it must see those, and only those, that are stamped with it
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        seq = _lock(mode, shard)
        scores, players = _take(mode, shard)
        if not scores and not players:
            return seq
        placed, retold = players.get(Outbox.Kind.PLACED, set()), players.get(Outbox.Kind.RETOLD, set())
        gathering = standings.tell(mode=mode, scores=scores, placed=placed, retold=retold, now=now)
        frozen = [effects.encode(effect) for effect in gathering.effects(PLAYERS_A_BATCH)]
        cursor.execute(
            """
            INSERT INTO leaderboards_stamp (mode_id, shard, seq, effect, created_at)
            SELECT %s, %s, %s + n, effect, clock_timestamp() FROM unnest(%s::bytea[]) WITH ORDINALITY AS i (effect, n)
            """,
            [mode.pk, shard, seq, frozen],
        )
        seq += len(frozen)
        cursor.execute(
            "UPDATE leaderboards_stream SET seq = %s WHERE mode_id = %s AND shard = %s", [seq, mode.pk, shard]
        )
    return seq


def _lock(mode: Mode, shard: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq FROM leaderboards_stream WHERE mode_id = %s AND shard = %s FOR UPDATE SKIP LOCKED",
            [mode.pk, shard],
        )
        row = cursor.fetchone()
    if row is None:
        raise Busy
    seq: int = row[0]
    return seq


def _take(mode: Mode, shard: int) -> tuple[list[ScoreRow], dict[int, set[int]]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM leaderboards_outbox WHERE mode_id = %s AND shard = %s RETURNING kind, payload",
            [mode.pk, shard],
        )
        rows = cursor.fetchall()
    scores: list[ScoreRow] = []
    players: dict[int, set[int]] = {}
    for kind, payload in rows:
        if kind == Outbox.Kind.SCORES:
            scores += decode_scores(payload).rows
        else:
            players.setdefault(kind, set()).update(decode_players(payload).players)
    return scores, players
