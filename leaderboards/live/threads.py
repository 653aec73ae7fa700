"""Where sockets have the stores asked: a few threads, each with a database connection of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.db import close_old_connections

T = TypeVar("T")


class Threads:
    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(settings.LIVE_THREADS, thread_name_prefix="live")
        self._asked: dict[object, asyncio.Future[Any]] = {}

    async def run(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, _with_good_connections, act)

    async def once(self, key: object, act: Callable[[], T]) -> T:
        """The same for all who ask before it begins."""
        asked = self._asked.get(key)  # one look: a thread may take it away at any moment
        if asked is None:
            asked = self._asked[key] = asyncio.ensure_future(self.run(partial(self._begun, key, act)))
        found: T = await asyncio.shield(asked)
        return found

    def _begun(self, key: object, act: Callable[[], T]) -> T:
        self._asked.pop(key, None)  # who asks from here on may know of something newer
        return act()


def _with_good_connections(act: Callable[[], T]) -> T:
    close_old_connections()
    return act()
