"""Collects the calls that are waiting, runs them together in a thread, answers all of them."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

log = structlog.get_logger(__name__)
A = TypeVar("A")
R = TypeVar("R")
Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Full(Exception):
    """More wait already than can be answered in time."""


class Coalescer(Generic[A, R]):
    """`act` takes some calls and answers each, in order; whatever it raises is tried again for each of them alone.

    While all its threads are busy calls wait, in a queue for each tenant; who is next is taken in turn, so that one
    with many calls does not keep the others waiting, and no tenant takes more than half of the room there is to wait.
    Many together cost little more than one. So those who have just been answered are given a moment to ask again, with
    those who wait (`gather` seconds, or until as many are here), and a second thread begins only when the first takes
    long (`patience`), unless there are `at_once` already.
    """

    def __init__(  # noqa: PLR0913 - each is a bound that somebody has to choose
        self,
        name: str,
        act: Callable[[Sequence[A]], Sequence[R]],
        *,
        failed: Callable[[A, Exception], R],
        at_once: int = 256,
        waiting: int = 4096,
        threads: int = 2,
        gather: float = 0.0,
        patience: float = 0.0,
        run: Run | None = None,
    ) -> None:
        self._gather, self._patience = gather, patience
        self._began = self._ended = float("-inf")  # the last that began, and the last of several that ended
        self._expected = 0  # those who waited when it ended, and those it answered
        self._timer: tuple[asyncio.AbstractEventLoop, asyncio.Handle, float] | None = None
        self._act, self._failed = act, failed
        self._at_once, self._most, self._free = at_once, waiting, threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._run = run or self._in_pool
        self._queues: dict[str, deque[tuple[A, asyncio.Future[R]]]] = {}
        self._waiting = 0
        self._running: set[asyncio.Future[Sequence[R]]] = set()

    def ask(self, tenant: str, call: A) -> "asyncio.Future[R]":
        """Cancelled before its turn, the call is not made at all."""
        if self._waiting >= self._most or 2 * len(self._queues.get(tenant, ())) >= self._most:
            raise Full
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append((call, answer))
        self._waiting += 1
        self._begin()
        return answer

    def _begin(self) -> None:
        while self._free and self._waiting:
            if (pause := self._pause()) > 0:
                self._begin_in(pause)
                return
            calls = self._taken()
            if not calls:
                return
            self._free -= 1
            self._began = time.monotonic()
            together = self._run(partial(self._answers, [call for call, _ in calls]))
            running = asyncio.ensure_future(together)
            self._running.add(running)  # the loop itself holds none
            running.add_done_callback(partial(self._tell, [waiting for _, waiting in calls]))

    def _pause(self) -> float:
        if self._waiting >= self._at_once:
            return 0
        if self._running:
            return self._began + self._patience - time.monotonic()
        return 0 if self._waiting >= self._expected else self._ended + self._gather - time.monotonic()

    def _begin_in(self, seconds: float) -> None:
        loop, due = asyncio.get_running_loop(), time.monotonic() + seconds
        if self._timer is not None and self._timer[0] is loop:
            if self._timer[2] <= due:
                return  # it comes soon enough
            self._timer[1].cancel()
        self._timer = loop, loop.call_later(seconds, self._timed), due

    def _timed(self) -> None:
        self._timer = None
        self._begin()

    def _tell(self, waiting: Sequence["asyncio.Future[R]"], done: "asyncio.Future[Sequence[R]]") -> None:
        self._running.discard(done)
        self._free += 1
        self._expected = self._waiting + len(waiting)
        if len(waiting) > 1:
            self._ended = time.monotonic()
        here = [(index, one) for index, one in enumerate(waiting) if not one.done()]  # the others have gone
        if done.cancelled():  # the loop ends
            for _, one in here:
                one.cancel()
            return
        error = done.exception()
        for index, one in here:
            if error is None:
                one.set_result(done.result()[index])
            else:
                one.set_exception(error)
        self._begin()

    def _taken(self) -> list[tuple[A, "asyncio.Future[R]"]]:
        """From each queue in turn. Whoever has gone away meanwhile is not asked for."""
        calls: list[tuple[A, asyncio.Future[R]]] = []
        while self._queues and len(calls) < self._at_once:
            share = max(1, (self._at_once - len(calls)) // len(self._queues))
            for tenant in list(self._queues):
                if len(calls) == self._at_once:
                    break  # whose turn it would be is first the next time
                queue = self._queues.pop(tenant)
                for _ in range(min(share, len(queue), self._at_once - len(calls))):
                    call = queue.popleft()
                    self._waiting -= 1
                    if not call[1].done():
                        calls.append(call)
                if queue:
                    self._queues[tenant] = queue  # behind the others
        return calls

    def _answers(self, calls: Sequence[A]) -> Sequence[R]:
        if len(calls) == 1:
            return [self._alone(calls[0])]
        try:
            answers = self._act(calls)
            if len(answers) == len(calls):
                return answers
            log.error("calls_not_all_answered", calls=len(calls), answers=len(answers))
        except Exception:
            log.exception("calls_failed_together", calls=len(calls), consequence="each is made alone")
        return [self._alone(call) for call in calls]

    def _alone(self, call: A) -> R:
        try:
            return self._act([call])[0]
        except Exception as error:  # noqa: BLE001 - it is the answer
            return self._failed(call, error)

    async def _in_pool(self, call: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)
