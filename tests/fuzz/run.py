"""The whole of it: make the world, send the cases from some processes, read the log, tell what was found."""

import asyncio
import multiprocessing
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from django.test import Client

from tests.fuzz.attack import Attack, Seen, work
from tests.fuzz.draw import draw
from tests.fuzz.forms import with_forms
from tests.fuzz.log import Log
from tests.fuzz.mend import Mender
from tests.fuzz.report import Report
from tests.fuzz.routes import gather
from tests.fuzz.target import Routes, World
from tests.fuzz.world import make_world

PROCESSES, CONNECTIONS = 2, 6  # of each: fewer than our queues take from one address
_PROGRESS_SECONDS, _MEND_SECONDS = 5.0, 1.5
_CONTEXT = multiprocessing.get_context("spawn")
Say = Callable[[str], Any]


class Target(Protocol):
    """Where it listens, where its log is, and which of its processes have died."""

    @property
    def port(self) -> int: ...
    @property
    def log(self) -> Path: ...
    def dead(self) -> str | None: ...


def prepare() -> tuple[Routes, World]:
    world = make_world()
    document = Client(SERVER_NAME="127.0.0.1").get("/v1/openapi.json").json()
    return with_forms(gather(document), world), world


def report_of(routes: Routes, world: World, *, seed: int, cases: int, say: Say) -> Report:
    return Report(seed, cases, partial(draw, seed, routes=routes, world=world), say)


def fuzz(product: Target, routes: Routes, world: World, *, seed: int, numbers: range, say: Say) -> Report:
    report = report_of(routes, world, seed=seed, cases=len(numbers), say=say)
    log, mender = Log(product.log), Mender(world)
    processes = min(PROCESSES, len(numbers))
    attacks = [Attack(product.port, seed, numbers[n::processes], CONNECTIONS, routes, world) for n in range(processes)]
    told_at = mended_at = time.monotonic()
    with _working(attacks) as told:
        for seen in _news(told, processes):
            _take(report, log, product, seen)
            now = time.monotonic()
            if now - mended_at > _MEND_SECONDS:
                mender.mend()
                mended_at = time.monotonic()
            if now - told_at > _PROGRESS_SECONDS:
                say(report.progress())
                told_at = now
    _take(report, log, product, Seen())
    if (done := report.seen.statuses.total()) < len(numbers):
        report.tell(f"the fuzzer itself failed: only {done:,} cases were sent")
    return report


def fuzz_here(
    product: Target, routes: Routes, world: World, *, seed: int, cases: int, say: Say, mender: Mender | None = None
) -> Report:
    """In this process: for a few thousand cases."""
    report = report_of(routes, world, seed=seed, cases=cases, say=say)
    log = Log(product.log, start=product.log.stat().st_size)
    attack = Attack(product.port, seed, range(cases), PROCESSES * CONNECTIONS, routes, world)
    with ThreadPoolExecutor(1) as apart:  # Django asks no database in a thread that runs a loop

        def take(seen: Seen) -> None:
            if mender is not None:
                apart.submit(mender.mend).result()
            _take(report, log, product, seen)

        asyncio.run(attack.run(take))
    _take(report, log, product, Seen())
    return report


def _take(report: Report, log: Log, product: Target, seen: Seen) -> None:
    for block in log.news():
        report.log(block)
    report.add(seen)
    if dead := product.dead():
        report.tell(dead)


def _news(told: Any, processes: int) -> Iterator[Seen]:
    while processes:
        try:
            seen = told.get(timeout=1.0)
        except queue.Empty:
            seen = Seen()
        if seen is None:
            processes -= 1
        else:
            yield seen


@contextmanager
def _working(attacks: list[Attack]) -> Iterator[Any]:
    told: Any = _CONTEXT.Queue()
    workers = [_CONTEXT.Process(target=work, args=(attack, told), daemon=True) for attack in attacks]
    for worker in workers:
        worker.start()
    try:
        yield told
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
