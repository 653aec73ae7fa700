"""Rows in, and the doorbell. A payload holds what was submitted and nothing that can change meanwhile."""

import contextlib
import threading
from collections.abc import Iterable, Sequence
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
VERSION = 1  # of payloads; a worker reads this one and the one before


class ScoreRow(msgspec.Struct, array_like=True, frozen=True):
    """One accepted attempt. Times are microseconds since 1970."""

    player: int
    score: int
    at: int
    attempt: int
    windows: int  # a bit for each kind of window that it counts in
    dimensions: dict[str, str] = {}


class Scores(msgspec.Struct, array_like=True, frozen=True):
    version: int
    rows: list[ScoreRow]
    arrived: int = 0  # all of a commit at the same moment: with it the log finds them again


class Players(msgspec.Struct, array_like=True, frozen=True):
    version: int
    players: list[int]


encode = msgspec.msgpack.Encoder().encode
decode_scores = msgspec.msgpack.Decoder(Scores).decode
decode_players = msgspec.msgpack.Decoder(Players).decode


def shard_of(player: int, shards: int) -> int:
    return player % shards


def add_scores(mode: int, shards: int, rows: Iterable[ScoreRow], *, arrived: int) -> list[Stream]:
    """One row for each shard touched; the streams to ring for."""
    by_shard: dict[int, list[ScoreRow]] = {}
    for row in rows:
        by_shard.setdefault(shard_of(row.player, shards), []).append(row)
    return [
        _add((mode, shard), shards, Outbox.Kind.SCORES, Scores(VERSION, rows, arrived))
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
        if valkey.cache_add(keys.bell(mode, shard), seconds=30):
            celery.send_task("leaderboards.tasks.drain", args=[mode, shard])
    except Exception:  # noqa: BLE001 - nothing after the commit can fail the caller
        log.warning("bell_not_rung", mode=mode, shard=shard, consequence="beat looks within seconds")


def answer(mode: int, shard: int) -> None:
    """Before looking: a ring that comes later is a new one."""
    with contextlib.suppress(valkey.ValkeyUnavailable):
        valkey.cache_take(keys.bell(mode, shard))
