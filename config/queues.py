"""Who waits for Django, and for whose threads: six queues, so that no kind of request keeps another from its answer.

Each queue is bounded; who comes when it is full is refused at once, and so is who has waited too long. A request whose
caller has left is forgotten before its turn comes.
"""

import asyncio
import contextvars
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from config.errors import Unavailable
from config.metrics import SHED

T = TypeVar("T")
_PATIENCE = 10.0  # seconds, after which nobody waits for an answer any more
_PROBES = ("/readyz", "/metrics")


class Queue:
    """`room`: the most that may wait; `share`: of one address."""

    def __init__(self, name: str, *, threads: int, room: int, share: int) -> None:
        self.name = name
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"django-{name}")
        self._most, self._share = threads + room, share
        self._of: Counter[str] = Counter()  # addresses of those who wait or are served
        self._inside = 0

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        if self._inside >= self._most or self._of[address] >= self._share:
            SHED.labels(self.name).inc()
            raise Unavailable("Too many requests are waiting already.", retry_after=1)
        self._inside += 1
        self._of[address] += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._of[address] -= 1
            if not self._of[address]:
                del self._of[address]

    async def run(self, call: Callable[[], T]) -> T:
        """In one of its threads. Cancelled before its turn, it is not run at all."""
        context = contextvars.copy_context()  # the request id goes along
        begun = time.monotonic()

        def act() -> T:
            if time.monotonic() - begun > _PATIENCE:
                SHED.labels(self.name).inc()
                raise Unavailable("This request waited too long for its turn.", retry_after=2)
            return context.run(call)

        return await asyncio.get_running_loop().run_in_executor(self._pool, act)


class Queues:
    """`threads`: of all six together, six at least."""

    def __init__(self, threads: int) -> None:
        few = max(1, threads // 5)
        self._probes = Queue("probes", threads=1, room=32, share=16)
        self.credentials = Queue("credentials", threads=1, room=256, share=32)
        self._operators = Queue("admin", threads=few, room=64, share=32)
        self._pages = Queue("pages", threads=few, room=64, share=16)
        self._servers = Queue("keys", threads=few, room=512, share=512)
        self._api = Queue("api", threads=max(1, threads - 2 - 3 * few), room=256, share=64)

    def of(self, path: str, *, proven: bool = False) -> Queue:
        """`proven`: an earlier request on the same connection showed a valid API key."""
        if path in _PROBES:
            return self._probes
        if path.startswith("/admin/"):
            return self._operators
        if path.startswith("/v1"):
            return self._servers if proven else self._api
        return self._pages
