"""A batch of one (mode, shard): number it, and freeze its effect. One transaction, one snapshot, one consumer."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import structlog
from django.db import InterfaceError, OperationalError, ProgrammingError, connection, transaction

from config.errors import Unavailable
from config.metrics import BATCHES_SET_ASIDE
from leaderboards import effects, judging, outbox, standings
from leaderboards.boards import store
from leaderboards.boards.store import Slot
from leaderboards.effects import BoardChange, Stamped
from leaderboards.models import Mode, Outbox, SetAside
from leaderboards.outbox import Scores, decode_players, decode_scores
from leaderboards.resplit import BeingMoved, rows_resplit
from leaderboards.standings import Pending

log = structlog.get_logger(__name__)
PLAYERS_A_BATCH = 1000  # keeps one call to Valkey short
ROWS_A_LOOK = 100  # commits, each of ten thousand scores at most: after a day without workers there are many
_LONGEST_ERROR = 1000


class Busy(Exception):
    """Another consumer has the stream, or something of it in hand."""


# servers that are down and tables that are not there yet: the rows can do nothing for it, and wait
_NOT_THE_ROWS = (Busy, Unavailable, OperationalError, InterfaceError, ProgrammingError, MemoryError)


class _Row(NamedTuple):
    kind: int
    payload: bytes
    tries: int
    created_at: datetime


# and no plan that reads whole tables, or is compiled at length, for some thousand players
_ONE_SNAPSHOT = """
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_seqscan = off; SET LOCAL jit = off
"""
# the oldest; all, where players are told anew: what counts of them in the log must not come once more later
_TAKE = """
DELETE FROM leaderboards_outbox WHERE id = ANY(ARRAY(
    SELECT id FROM leaderboards_outbox WHERE mode_id = %(mode)s AND shards = %(shards)s AND shard = %(shard)s
    ORDER BY id LIMIT CASE WHEN NOT EXISTS (
        SELECT FROM leaderboards_outbox
        WHERE mode_id = %(mode)s AND shards = %(shards)s AND shard = %(shard)s AND kind = %(retold)s
    ) THEN %(most)s END
)) RETURNING kind, payload, tries, created_at
"""
_Changes = list[BoardChange]
_Tell = Callable[[Mode, int, list[_Row], datetime], list[_Changes]]


class Last(NamedTuple):
    seq: int
    fresh: list[Stamped]  # what was stamped just now, committed


def stream_stamp(*, mode: Mode, shard: int, now: datetime) -> Last:
    """Stamps all that is pending; up to which number there are batches. What cannot be stamped is set aside."""
    try:
        return _stamped(mode, shard, now, _together)
    except _NOT_THE_ROWS:
        raise
    except Exception:
        log.exception("batch_not_stamped", mode=mode.pk, shard=shard, consequence="each row is tried alone")
    return _stamped(mode, shard, now, _one_by_one)


def _stamped(mode: Mode, shard: int, now: datetime, tell: _Tell) -> Last:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        # a correction counts attempts in the log: it must see those, and only those, that are stamped with it
        cursor.execute(_ONE_SNAPSHOT)
        seq, shards, generation = _lock(mode, shard)
        _distrust_another_history(Slot(mode.pk, shard, generation), seq)
        moved = _rows_moved(mode, shards)
        rows = _take(mode, shard, shards)
        fresh = _freeze(mode, shard, seq, tell(mode, shard, rows, now)) if rows else []
    if moved:  # to any stream, and whoever came meanwhile was sent away
        outbox.ring((mode.pk, other) for other in range(shards) if other != shard)
    return Last(seq + len(fresh), fresh)


def _rows_moved(mode: Mode, shards: int) -> bool:
    try:
        return rows_resplit(mode=mode.pk, shards=shards)
    except BeingMoved:
        raise Busy from None


def _freeze(mode: Mode, shard: int, seq: int, told: list[_Changes]) -> list[Stamped]:
    frozen = [effect for changes in told for effect in effects.effects(changes, PLAYERS_A_BATCH)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO leaderboards_stamp (mode_id, shard, seq, effect, created_at)
            SELECT %s, %s, %s + n, effect, clock_timestamp() FROM unnest(%s::bytea[]) WITH ORDINALITY AS i (effect, n)
            RETURNING created_at
            """,
            [mode.pk, shard, seq, [effects.encode(effect) for effect in frozen]],
        )
        made = cursor.fetchall()
        last = seq + len(frozen)
        cursor.execute(
            "UPDATE leaderboards_stream SET seq = %s WHERE mode_id = %s AND shard = %s", [last, mode.pk, shard]
        )
    return [Stamped(*one) for one in zip(range(seq + 1, last + 1), frozen, (at for (at,) in made), strict=True)]


def _distrust_another_history(slot: Slot, seq: int) -> None:
    """Boards that show a number which was never given here: PostgreSQL has lost its last commits, to a failover or a
    restore. Seen while the stream is held, before new batches get these numbers, or they would be taken for sent. So
    where the boards cannot be asked, nothing is stamped.
    """
    mark = store.mark(slot)
    if mark is not None and mark > seq:
        log.error("boards_of_another_history", mode=slot.mode, shard=slot.shard, mark=mark, seq=seq)
        store.distrust(slot)


def _lock(mode: Mode, shard: int) -> tuple[int, int, int]:
    """The last number, and how many shards and which generation the mode has while the stream is held."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT s.seq, m.shards, m.generation FROM leaderboards_stream s"
            " JOIN leaderboards_mode m ON m.id = s.mode_id"
            " WHERE s.mode_id = %s AND s.shard = %s FOR UPDATE OF s SKIP LOCKED",
            [mode.pk, shard],
        )
        row = cursor.fetchone()
    if row is None:
        raise Busy
    seq, shards, generation = row
    return seq, shards, generation


def _take(mode: Mode, shard: int, shards: int) -> list[_Row]:
    stream = {"mode": mode.pk, "shards": shards, "shard": shard}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {**stream, "retold": Outbox.Kind.RETOLD.value, "most": ROWS_A_LOOK})
        return [_Row(*row) for row in cursor.fetchall()]


def _together(mode: Mode, shard: int, rows: list[_Row], now: datetime) -> list[_Changes]:
    return [_told(mode, rows, now, retold=set())]


def _told(mode: Mode, rows: list[_Row], now: datetime, *, retold: set[int]) -> _Changes:
    """`retold`: those whom another row tells anew, with all their scores."""
    placed, own = _players(rows, Outbox.Kind.PLACED), _players(rows, Outbox.Kind.RETOLD)
    commits = [decode_scores(row.payload) for row in rows if row.kind == Outbox.Kind.SCORES]
    if retold:
        commits = [_without(retold, some) for some in commits]
    waiting = Pending(commits, placed, own)
    return standings.tell(mode=mode, waiting=waiting, now=now, fold=judging.folded, review=judging.reviewed)


def _without(players: set[int], some: Scores) -> Scores:
    return outbox.columns([row for row in some.rows if row.player not in players], arrived=some.arrived)


def _players(rows: list[_Row], kind: Outbox.Kind) -> set[int]:
    return {player for row in rows if row.kind == kind for player in decode_players(row.payload).players}


def _one_by_one(mode: Mode, shard: int, rows: list[_Row], now: datetime) -> list[_Changes]:
    retold = _retold(rows)
    told = []
    for row in rows:
        try:
            with transaction.atomic():
                told.append(_told(mode, [row], now, retold=retold))
        except _NOT_THE_ROWS:
            raise
        except Exception as error:
            log.exception("batch_set_aside", mode=mode.pk, shard=shard, kind=row.kind, tries=row.tries + 1)
            BATCHES_SET_ASIDE.labels(Outbox.Kind(row.kind).name.lower()).inc()
            SetAside.objects.create(
                mode=mode,
                shard=shard,
                kind=row.kind,
                payload=row.payload,
                tries=row.tries + 1,
                created_at=row.created_at,
                set_aside_at=now,
                error=f"{type(error).__name__}: {error}"[:_LONGEST_ERROR],
            )
    return told


def _retold(rows: list[_Row]) -> set[int]:
    """Whom any row tells anew, or will when it is tried again: their scores must not be added as well."""
    found: set[int] = set()
    for row in rows:
        if row.kind == Outbox.Kind.RETOLD:
            try:
                found |= set(decode_players(row.payload).players)
            except ValueError:  # msgspec's are
                continue
    return found
