"""A worker: sends its cases over some connections, one after another on each, and tells what it saw."""

import asyncio
import queue as queues
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.client import Answer, Connection, NoAnswer
from tests.fuzz.draw import draw
from tests.fuzz.judge import fault_of, is_unavailable
from tests.fuzz.request import Request
from tests.fuzz.target import Routes, World

_TELL_SECONDS = 1.0
_REDIRECTED = 300  # the first status that is no success
_BREATH = 0.5  # after a connection was refused


@dataclass
class Seen:
    """`statuses`: by status, and "unavailable" for 503 on purpose. `faults`: case number and sentence."""

    statuses: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)  # by kind of route: what was answered 2xx
    routes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)  # of each route, to find what is dear
    faults: list[tuple[int, str]] = field(default_factory=list)

    def count(self, number: int, request: Request, answer: Answer, seconds: float) -> None:
        self.statuses["unavailable" if is_unavailable(answer) else f"{answer.status}"] += 1
        self.routes[request.route] += 1
        self.done[request.route.partition(" ")[0]] += answer.status < _REDIRECTED
        self.seconds[request.route] = self.seconds.get(request.route, 0.0) + seconds
        if fault := fault_of(request, answer):
            self.faults.append((number, fault))

    def fail(self, number: int, why: str) -> None:
        self.statuses["no answer"] += 1
        self.faults.append((number, why))

    def add(self, other: "Seen") -> None:
        self.statuses.update(other.statuses)
        self.routes.update(other.routes)
        self.done.update(other.done)
        for route, seconds in other.seconds.items():
            self.seconds[route] = self.seconds.get(route, 0.0) + seconds


@dataclass
class Attack:
    port: int
    seed: int
    numbers: range
    connections: int
    routes: Routes
    world: World
    _seen: Seen = field(default_factory=Seen)
    _told: float = 0.0

    async def run(self, tell: Callable[[Seen], Any]) -> None:
        numbers = iter(self.numbers)
        await asyncio.gather(*(self._one_by_one(numbers, tell) for _ in range(self.connections)))
        tell(self._seen)

    async def _one_by_one(self, numbers: Iterator[int], tell: Callable[[Seen], Any]) -> None:
        connection = Connection(self.port)
        for number in numbers:
            await self._send(connection, number)
            if time.monotonic() - self._told > _TELL_SECONDS:
                seen, self._seen, self._told = self._seen, Seen(), time.monotonic()
                tell(seen)
        connection.close()

    async def _send(self, connection: Connection, number: int) -> None:
        request = draw(self.seed, number, self.routes, self.world)
        began = time.monotonic()
        try:
            answer = await connection.ask(request)
        except (NoAnswer, OSError, TimeoutError, ValueError, IndexError) as error:
            self._seen.fail(number, f"{type(error).__name__}: {error}"[:200])
            connection.close()
            if isinstance(error, ConnectionRefusedError):
                await asyncio.sleep(_BREATH)
        else:
            self._seen.count(number, request, answer, time.monotonic() - began)


def work(attack: Attack, told: "queues.Queue[Seen | None]") -> None:
    """In a process of its own; None says that it is done."""
    try:
        asyncio.run(attack.run(told.put))
    finally:
        told.put(None)
