"""Scores over HTTP: batches, and one by one. When the boards show a batch is seen with a probe.

The last score of each batch is one of a player who belongs to the connection, and rises with every batch. Such players
have the greatest numbers, so the drainer sends them in the last call of what it took: once a board shows the probe, it
shows the whole batch, and whatever the same connection sent before.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import redis

from bench import load, mix
from bench.fill import Filled
from bench.load import Load, Measured
from leaderboards import keys
from leaderboards.boards.store import member
from leaderboards.rules.encoding import tie_bits

LOOK_SECONDS = 0.005
SHOWN_WITHIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Batches:
    """`clients` connections send so many batches each, until the time is over; `rate`: batches a second."""

    port: int
    filled: Filled
    valkey_url: str
    start: int  # serial of the first score
    clients: int
    each: int
    seconds: float
    rate: float = 0.0

    @property
    def scores(self) -> int:
        return self.clients * self.each * mix.BATCH

    def serial(self, client: int, number: int) -> int:
        """Of the first score of a client's batch; its probe has the last."""
        return self.start + (number * self.clients + client) * mix.BATCH


@dataclass(frozen=True, slots=True)
class Sent:
    accepted_per_second: float  # scores, until the last was acknowledged
    shown_per_second: float  # scores, until the boards showed all
    lag_p50_ms: float
    lag_p99_ms: float
    backlog_gone_s: float
    request: Measured


def batches(job: Batches) -> Sent:
    """In the calling process, which sends and looks; call it in one that does nothing else."""
    watch = _Watch(job)
    sending = Load(job.port, job.clients, job.seconds, partial(_bodies, job), job.rate, expect=b'"rejected":0')
    watch.start()
    done = load.run(sending)
    acked = [times for times in done.answered_at if times]
    lasts = {n: job.serial(n, len(times) - 1) + mix.BATCH - 1 for n, times in enumerate(done.answered_at) if times}
    all_shown = watch.finish(lasts)
    scores, ended = done.answers * mix.BATCH, max(times[-1] for times in acked)
    lags = sorted(watch.lags(done.answered_at))
    return Sent(
        accepted_per_second=scores / (ended - done.began),
        shown_per_second=scores / (all_shown - done.began),
        lag_p50_ms=lags[len(lags) // 2] * 1000,
        lag_p99_ms=lags[min(len(lags) - 1, int(len(lags) * 0.99))] * 1000,
        backlog_gone_s=max(0.0, all_shown - ended),
        request=done,
    )


def _bodies(job: Batches, client: int) -> Iterator[bytes]:
    """All made before the first is sent."""
    made = []
    for number in range(job.each):
        first = job.serial(client, number)
        items = [item(one.number, one.serial, one.score) for one in mix.draws(first, mix.BATCH - 1, job.filled.players)]
        probe = first + mix.BATCH - 1
        items.append(item(job.filled.players + 1 + client, probe, probe))
        body = b'{"scores":[' + b",".join(items) + b"]}"
        made.append(post(f"/v1/games/{mix.GAME}/scores", body, key=job.filled.key))
    return iter(made)


def item(number: int, serial: int, score: int) -> bytes:
    attempt = mix.attempt_id(serial)
    return f'{{"mode":"main","player_id":"p-{number}","attempt_id":"{attempt}","score":{score}}}'.encode()


def post(path: str, body: bytes, *, key: str) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def singles(filled: Filled, start: int, each: int, client: int) -> Iterator[bytes]:
    """One score a request, by one client."""
    path, made = f"/v1/games/{mix.GAME}/modes/main/scores", []
    for serial, number, score, _ in mix.draws(start + client * each, each, filled.players):
        body = f'{{"player_id":"p-{number}","attempt_id":"{mix.attempt_id(serial)}","score":{score}}}'.encode()
        made.append(post(path, body, key=filled.key))
    return iter(made)


class _Watch:
    """Looks at the probes on the all-time board every few milliseconds, from a thread."""

    def __init__(self, job: Batches) -> None:
        self.job = job
        self.server = redis.Redis.from_url(job.valkey_url.replace("valkey://", "redis://"))
        filled = job.filled
        self.board = keys.board(filled.modes["main"], 0, filled.generations["main"], "alltime", "global")
        first = filled.first_player + filled.players
        self.members: list[Any] = [member(first + client) for client in range(job.clients)]
        self.bits = tie_bits(0, mix.MOST_SCORE)
        self.looks: list[tuple[float, list[int]]] = []  # when, and the last serial that each probe shows
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def _run(self) -> None:
        while not self.over.wait(LOOK_SECONDS):
            places = self.server.zmscore(self.board, self.members)
            now = time.monotonic()
            self.looks.append((now, [int(place or 0) >> self.bits for place in places]))

    def finish(self, lasts: dict[int, int]) -> float:
        """When the boards showed the last of each client."""
        deadline = time.monotonic() + SHOWN_WITHIN_SECONDS
        while not (self.looks and all(self.looks[-1][1][n] >= serial for n, serial in lasts.items())):
            if time.monotonic() > deadline:
                raise RuntimeError(f"The boards did not show everything within {SHOWN_WITHIN_SECONDS:.0f} s.")
            time.sleep(LOOK_SECONDS)
        self.over.set()
        self.thread.join()
        return max(self._shown_at(client, serial) for client, serial in lasts.items())

    def lags(self, answered_at: list[list[float]]) -> Iterator[float]:
        for client, times in enumerate(answered_at):
            for number, acked in enumerate(times):
                shown = self._shown_at(client, self.job.serial(client, number) + mix.BATCH - 1)
                yield max(0.0, shown - acked)

    def _shown_at(self, client: int, serial: int) -> float:
        return self.looks[bisect_left(self.looks, serial, key=lambda look: look[1][client])][0]
