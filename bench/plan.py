"""What is measured, and in which order: each beside what it is compared with, in turn, round after round."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import redis

from bench import fanout, fill, floors, load, mix, quiet, reads, writes
from bench.house import SLOW_SECONDS, House
from bench.load import Load, Measured
from bench.report import Report
from leaderboards import keys

LAG_SHARE = 0.8  # of the rate that was measured, for the lag
CLIENTS, MANY_CLIENTS = 64, 256


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: each for so many seconds, with so many batches and single scores at most."""

    rounds: int
    seconds: float
    batch_seconds: float
    floor_batches: int
    batches: int
    singles: int
    batch_clients: int = 4
    quiet_seconds: float = 0.0  # that what was left for later may take, before each
    sockets: int = 2000
    stalled: int = 50
    socket_seconds: float = 6.0

    @property
    def fewer_rounds(self) -> int:
        """For what no ratio is made of."""
        return (self.rounds + 1) // 2


FULL = Size(
    rounds=3, seconds=2.0, batch_seconds=4.0, floor_batches=100, batches=200, singles=40_000, quiet_seconds=120.0
)
QUICK = Size(
    rounds=2,
    seconds=0.3,
    batch_seconds=1.0,
    floor_batches=25,
    batches=40,
    singles=6_000,
    sockets=200,
    stalled=10,
    socket_seconds=0.6,
)
TINY = Size(
    rounds=1,
    seconds=0.1,
    batch_seconds=0.4,
    floor_batches=2,
    batches=4,
    singles=1_000,
    batch_clients=2,
    sockets=20,
    stalled=2,
    socket_seconds=0.3,
)


class Plan:
    def __init__(self, house: House, size: Size, report: Report) -> None:
        self.house, self.size, self.report = house, size, report
        self.players = house.filled.players

    def run(self, only: set[str]) -> None:
        """All, or those named with what they are compared with."""
        for names, act in STEPS.items():
            if not only or not only.isdisjoint(names.split()):
                began, failures = time.monotonic(), self.report.failures
                self._settle()
                act(self)
                failed = f", {self.report.failures - failures} failures" if self.report.failures > failures else ""
                print(f"{names}: {time.monotonic() - began:.1f} s{failed}", file=sys.stderr, flush=True)

    def _settle(self) -> None:
        if self.size.quiet_seconds:
            quiet.settle(self.size.quiet_seconds)

    def boards(self) -> None:
        filled = self.house.filled
        for _ in range(self.size.rounds):
            self._settle()  # a rebuild leaves the boards of before to be freed
            self.report.add("rebuild_players_per_s", self.house.apart(fill.rebuild, filled.modes["one"]))
        server = redis.Redis.from_url(os.environ["VALKEY_URL"].replace("valkey://", "redis://"))
        generation = filled.generations["one"] + self.size.rounds
        board = keys.board(filled.modes["one"], 0, generation, "alltime", "global")
        self.report.add("bytes_per_player", float(server.memory_usage(board, samples=0) or 0) / self.players)

    def bare_stores(self) -> None:
        for _ in range(self.size.fewer_rounds):
            self.report.add("floor_pg", floors.floor_pg(self._floor()))
            self.report.add("floor_valkey", floors.floor_valkey(self._floor()))

    def _floor(self) -> floors.Job:
        start = self.house.take_serials(self.size.floor_batches * mix.BATCH)
        return floors.Job(self.house.filled, start, self.size.floor_batches, self.size.batch_seconds)

    def batch_scores(self) -> None:
        for _ in range(self.size.rounds):
            self.report.add("floor_both", floors.floor_both(self._floor()))
            sent = self._send(self.size.batches)
            self.report.add("batch_scores", sent.accepted_per_second)
            self.report.add("batch_scores_shown", sent.shown_per_second)
            for name in ("p50_ms", "p95_ms", "p99_ms"):
                self.report.add(f"batch_scores_{name}", getattr(sent.request, name))
            self.report.add_pair("batch_scores", "floor_both")

    def lag(self) -> None:
        rate = self.report.median("batch_scores") or self._send(self.size.batches).accepted_per_second
        for _ in range(self.size.fewer_rounds):
            sent = self._send(self.size.batches, rate=LAG_SHARE * rate / mix.BATCH)
            self.report.add("apply_lag_p50_ms", sent.lag_p50_ms)
            self.report.add("apply_lag_p99_ms", sent.lag_p99_ms)
            self.report.add("backlog_gone_s", sent.backlog_gone_s)

    def _send(self, batches: int, rate: float = 0.0) -> writes.Sent:
        each = max(1, batches // self.size.batch_clients)
        start = self.house.take_serials(each * self.size.batch_clients * mix.BATCH)
        job = writes.Batches(
            self.house.web_port,
            self.house.filled,
            os.environ["VALKEY_URL"],
            start,
            self.size.batch_clients,
            each,
            self.size.batch_seconds,
            rate,
        )
        sent = self.house.apart(writes.batches, job)
        self.report.failures += sent.request.failures
        return sent

    def _load(self, port: int, requests: load.Requests, *, clients: int = CLIENTS) -> Measured:
        return self.house.apart(load.run, Load(port, clients, self.size.seconds, requests))

    def _against_hello(self, name: str, requests: load.Requests, *, clients: int = CLIENTS) -> None:
        self.report.add_requests("hello", self._load(self.house.hello_port, partial(reads.same, "/")))
        self.report.add_requests(name, self._load(self.house.web_port, requests, clients=clients))
        self.report.add_pair(name, "hello")

    def ranks(self) -> None:
        for _ in range(self.size.rounds):
            self._against_hello("rank_reads", partial(reads.ranks, self.players, ""))

    def through_django(self) -> None:
        for _ in range(self.size.fewer_rounds):
            requests = partial(reads.ranks, self.players, reads.THROUGH_DJANGO)
            self.report.add_requests("drf_rank_reads", self._load(self.house.web_port, requests))

    def around(self) -> None:
        requests = partial(reads.around, self.players)
        for _ in range(self.size.rounds):  # of players far apart each process has to have been asked for each
            self._load(self.house.web_port, requests)
        for _ in range(self.size.rounds):
            self._against_hello("around_reads", requests)

    def around_cold(self) -> None:
        for _ in range(self.size.rounds):
            self.house.restart_web()
            self._against_hello("around_reads_cold", partial(reads.around_cold, self.players, CLIENTS))

    def top(self) -> None:
        self.house.top.write_bytes(self.house.get(reads.TOP))
        for _ in range(self.size.rounds):
            bare = self._load(self.house.hello_port, partial(reads.same, "/top"))
            self.report.add_requests("hello_top_bytes", bare)
            self.report.add_requests("top100_reads", self._load(self.house.web_port, partial(reads.same, reads.TOP)))
            self.report.add_pair("top100_reads", "hello_top_bytes")

    def singles(self, clients: int) -> None:
        for _ in range(self.size.rounds):
            each = max(1, self.size.singles // clients)
            start = self.house.take_serials(clients * each)
            requests = partial(writes.singles, self.house.filled, start, each)
            self._against_hello(f"single_writes_{clients}", requests, clients=clients)

    def fanout(self) -> None:
        if not Path("/proc/self/stat").exists():
            return  # what processes use is read there, and sockets are waited for with epoll
        house, size = self.house, self.size
        pids = (house.pid("web"), house.pid("worker"))
        job = fanout.Fanout(
            house.web_port, house.filled, 0, size.sockets, size.stalled, size.socket_seconds, SLOW_SECONDS, pids
        )
        found = house.apart(fanout.fanout, replace(job, start=house.take_serials(job.serials)))
        self.report.add("ws_fanout_p50_ms", found.p50_ms)
        self.report.add("ws_fanout_p99_ms", found.p99_ms)
        self.report.add("ws_fanout_p99_ms_with_stalled", found.stalled_p99_ms)
        self.report.add("ws_stalled_dropped", found.dropped)
        self.report.add("ws_bytes_per_socket", found.bytes_per_socket)
        for rate, cpu in found.cpu.items():
            self.report.add(f"ws_cpu_at_{rate}", cpu)
        self.report.failures += found.failures


STEPS: dict[str, Callable[[Plan], None]] = {
    "bytes_per_player rebuild_players_per_s": Plan.boards,
    "floor_pg floor_valkey": Plan.bare_stores,
    "floor_both batch_scores": Plan.batch_scores,
    "apply_lag_p99_ms backlog_gone_s": Plan.lag,
    "hello rank_reads": Plan.ranks,
    "drf_rank_reads": Plan.through_django,
    "around_reads": Plan.around,
    "around_reads_cold": Plan.around_cold,
    "hello_top_bytes top100_reads": Plan.top,
    "single_writes single_writes_64": partial(Plan.singles, clients=CLIENTS),
    "single_writes single_writes_256": partial(Plan.singles, clients=MANY_CLIENTS),
    "ws_fanout": Plan.fanout,
}
