"""Rows in, and the doorbell. A payload holds what was submitted and nothing that can change meanwhile."""

import contextlib
import threading
from array import array
from collections.abc import Collection, Iterable, Sequence
from queue import SimpleQueue
from typing import Any

import msgspec
import structlog
from django.db import connection

from config import valkey
from config.celery import app as celery
from leaderboards import keys
from leaderboards.projection import Outbox

log = structlog.get_logger(__name__)
Stream = tuple[int, int]  # mode, shard
_KEPT = 30  # seconds, at most, that a bell is taken for answered soon
VERSION = 2  # of payloads; a worker reads this one and the one before


class ScoreRow(msgspec.Struct, array_like=True, frozen=True):
    """One accepted attempt. Times are microseconds since 1970."""

    player: int
    score: int
    at: int
    attempt: int
    windows: int  # a bit for each kind of window that it counts in
    dimensions: dict[str, str] = {}


class Scores(msgspec.Struct, array_like=True, frozen=True):
    """Of one commit, column by column: most of it is for PostgreSQL, and no row of it is anybody's concern here."""

    version: int
    arrived: int  # all of a commit at the same moment: with it the log finds them again
    players: bytes  # 64 bits each, as the next three
    scores: bytes
    ats: bytes
    attempts: bytes
    windows: bytes  # 8 bits each
    dimensions: dict[int, dict[str, str]] = {}  # by number of the row, of those that have any

    def __post_init__(self) -> None:
        if {len(self.players), len(self.scores), len(self.ats), len(self.attempts)} != {8 * len(self.windows)}:
            raise ValueError("Columns of one length make a table.")

    @property
    def rows(self) -> list[ScoreRow]:
        columns = [integers(column) for column in (self.players, self.scores, self.ats, self.attempts)]
        dimensions = [self.dimensions.get(number, {}) for number in range(len(self.windows))]
        return list(map(ScoreRow, *columns, self.windows, dimensions))


class _ScoresBefore(msgspec.Struct, array_like=True, frozen=True):
    """Version 1."""

    version: int
    rows: list[ScoreRow]
    arrived: int = 0


class Players(msgspec.Struct, array_like=True, frozen=True):
    version: int
    players: list[int]


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Scores).decode
_decode_before = msgspec.msgpack.Decoder(_ScoresBefore).decode
decode_players = msgspec.msgpack.Decoder(Players).decode


def decode_scores(payload: bytes) -> Scores:
    try:
        return _decode(payload)
    except msgspec.ValidationError:
        before = _decode_before(payload)
    return columns(before.rows, arrived=before.arrived)


def columns(rows: Sequence[ScoreRow], *, arrived: int) -> Scores:
    return Scores(
        VERSION,
        arrived,
        array("q", [row.player for row in rows]).tobytes(),
        array("q", [row.score for row in rows]).tobytes(),
        array("q", [row.at for row in rows]).tobytes(),
        array("q", [row.attempt for row in rows]).tobytes(),
        bytes([row.windows for row in rows]),
        {number: row.dimensions for number, row in enumerate(rows) if row.dimensions},
    )


def without(attempts: Collection[int], some: Scores) -> Scores:
    if not attempts:
        return some
    return columns([row for row in some.rows if row.attempt not in attempts], arrived=some.arrived)


def only(attempts: Collection[int], some: Scores) -> Scores:
    return columns([row for row in some.rows if row.attempt in attempts], arrived=some.arrived)


def integers(column: bytes) -> "array[int]":
    found = array("q")
    found.frombytes(column)
    return found


def shard_of(player: int, shards: int) -> int:
    return player % shards


def add_scores(mode: int, shards: int, rows: list[ScoreRow], *, arrived: int) -> list[Stream]:
    """One row for each shard touched; the streams to ring for."""
    by_shard: dict[int, list[ScoreRow]] = {}
    if shards == 1 and rows:
        by_shard[0] = rows
    else:
        for row in rows:
            by_shard.setdefault(shard_of(row.player, shards), []).append(row)
    return [
        _add((mode, shard), shards, Outbox.Kind.SCORES, columns(rows, arrived=arrived))
        for shard, rows in sorted(by_shard.items())
    ]


def add_correction(
    mode: int, shards: int, kind: Outbox.Kind, players: Sequence[int], *, tries: int = 0
) -> list[Stream]:
    """`tries`: how often the same was set aside before."""
    by_shard: dict[int, list[int]] = {}
    for player in players:
        by_shard.setdefault(shard_of(player, shards), []).append(player)
    return [
        _add((mode, shard), shards, kind, Players(VERSION, found), tries) for shard, found in sorted(by_shard.items())
    ]


def _add(stream: Stream, shards: int, kind: Outbox.Kind, payload: Any, tries: int = 0) -> Stream:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leaderboards_outbox (mode_id, shard, shards, kind, payload, tries, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp())",
            [*stream, shards, kind, encode(payload), tries],
        )
    return stream


def ring(streams: Iterable[Stream]) -> None:
    """After the commit. Whatever fails here, beat catches up with."""
    if _ringer is None:
        for stream in streams:
            _ring(*stream)
    else:
        _ringer.ring(streams)


def ring_meanwhile() -> None:
    """From now on nobody in this process waits for the bell: the broker's client takes milliseconds, or longer."""
    global _ringer  # noqa: PLW0603 - said once, when a web process begins
    _ringer = _Ringer()


class _Ringer:
    """Rings in a thread that no one waits for: what is not rung when the process ends, beat looks for."""

    def __init__(self) -> None:
        self._due: set[Stream] = set()  # each once, however often it is asked for while the broker is away
        self._queue: SimpleQueue[Stream] = SimpleQueue()
        threading.Thread(target=self._run, name="bell", daemon=True).start()

    def ring(self, streams: Iterable[Stream]) -> None:
        for stream in streams:
            if stream not in self._due:
                self._due.add(stream)
                self._queue.put(stream)

    def _run(self) -> None:
        while True:
            stream = self._queue.get()
            self._due.discard(stream)  # before: what is committed from here on rings anew
            _ring(*stream)


_ringer: _Ringer | None = None


def _ring(mode: int, shard: int) -> None:
    try:
        if valkey.cache_add(keys.bell(mode, shard), seconds=_KEPT):
            celery.send_task("leaderboards.tasks.drain", args=[mode, shard])
    except Exception:  # noqa: BLE001 - nothing after the commit can fail the caller
        log.warning("bell_not_rung", mode=mode, shard=shard, consequence="beat looks within seconds")


def keep(mode: int, shard: int) -> None:
    """While looking again and again: nobody need ring."""
    with contextlib.suppress(valkey.ValkeyUnavailable):
        valkey.cache_set(keys.bell(mode, shard), "1", seconds=_KEPT)


def answer(mode: int, shard: int) -> None:
    """Before looking: a ring that comes later is a new one."""
    with contextlib.suppress(valkey.ValkeyUnavailable):
        valkey.cache_take(keys.bell(mode, shard))
