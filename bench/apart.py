"""Processes of the benchmark's own: load and floors never share an interpreter with what reads the clock."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")
CONTEXT = multiprocessing.get_context("spawn")


def watch_parent() -> None:
    """A helper whose parent was killed ends by itself."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


class Apart:
    """Runs functions in another process, which is kept for the next one."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def __call__(self, act: Callable[..., Result], *args: Any) -> Result:
        return self._pool.submit(act, *args).result()


@contextmanager
def apart() -> Iterator[Apart]:
    with ProcessPoolExecutor(1, mp_context=CONTEXT, initializer=watch_parent) as pool:
        yield Apart(pool)
