"""Many callers in the same moment, for what must hold however they meet."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

Answer = TypeVar("Answer")


def at_once(act: Callable[[int], Answer], *, threads: int = 8) -> list[Answer]:
    """What each answered, in a thread and a connection of its own, all let go together."""
    ready = threading.Barrier(threads)

    def run(number: int) -> Answer:
        connection.ensure_connection()
        try:
            ready.wait(timeout=120)
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))
