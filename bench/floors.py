"""What the stores can do at best: the rows and the calls that the product makes of a batch, with nothing in between.

Each side is one process with one connection, and everything it sends was made before the clock began. `floor_both` is
both at the same time, in the product's order: the call of a batch leaves when its rows are committed, while the rows of
the next are written. Its rate is that of the slower: from the beginning until both have done the same batches.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier, Event, Semaphore
from typing import Any

from bench import floor_calls, floor_rows, mix
from bench.apart import CONTEXT, watch_parent
from bench.fill import Filled

READY_SECONDS = 60.0
Maker = Callable[..., Any]  # a context with the acts of a side, one for each batch


@dataclass(frozen=True, slots=True)
class Job:
    filled: Filled
    start: int  # serial of the first score
    batches: int
    seconds: float

    def drawn(self) -> list[list[mix.Draw]]:
        return [
            list(mix.draws(self.start + n * mix.BATCH, mix.BATCH, self.filled.players)) for n in range(self.batches)
        ]


@dataclass(frozen=True, slots=True)
class _Race:
    """Two sides begin on one line; the second takes its turns from the first."""

    line: Barrier
    turns: Semaphore
    over: Event  # there will be no more turns

    def runs(self, number: int, began: float, seconds: float) -> bool:
        """Whether the side may do another batch."""
        if number == 0:
            return time.monotonic() - began < seconds
        while not self.turns.acquire(timeout=0.01):
            if self.over.is_set():
                return self.turns.acquire(block=False)
        return True


def floor_pg(job: Job) -> float:
    return _run(job, floor_rows.acts)


def floor_valkey(job: Job) -> float:
    return _run(job, floor_calls.acts)


def floor_both(job: Job) -> float:
    return _run(job, floor_rows.acts, floor_calls.acts)


def _run(job: Job, *makers: Maker) -> float:
    """Scores a second."""
    race = _Race(CONTEXT.Barrier(len(makers)), CONTEXT.Semaphore(0), CONTEXT.Event())
    sides = []
    for number, maker in enumerate(makers):
        here, there = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=_side, args=(number, maker, job, race, there), daemon=True)
        process.start()
        there.close()
        sides.append((process, here))
    ends = []
    for process, here in sides:
        if not here.poll(2 * READY_SECONDS + job.seconds):
            raise RuntimeError("A floor did not end.")
        ends.append(here.recv())  # EOFError: it failed, and has said why
        process.join()
    done, began, _ = ends[-1]
    return float(done * mix.BATCH / (max(ended for _, _, ended in ends) - began))


def _side(number: int, maker: Maker, job: Job, race: _Race, answer: Connection) -> None:
    watch_parent()
    with maker(job, os.environ) as acts:
        race.line.wait(READY_SECONDS)
        began, done = time.monotonic(), 0
        for act in acts:
            if not race.runs(number, began, job.seconds):
                break
            act()
            done += 1
            if number == 0:
                race.turns.release()
        ended = time.monotonic()
        race.over.set()
    answer.send((done, began, ended))
