"""Password hashing, a third of a second of a core each time: one hash at a time for strangers and one for operators, in
all web processes of a machine together. Whoever finds its turn taken gets a 503 instead of a core. What strangers have
hashed stands behind all other work of its process, and pauses for nine times as long as it took.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from config.errors import Unavailable

# strangers hardly wait: each would keep one of the few threads that answer the admin
_PATIENCE = {"strangers": 0.05, "operators": 3.0}  # seconds
_LOCKS = {lane: threading.Lock() for lane in _PATIENCE}
_RESTS = 9  # times as long as it worked
_LONGEST_REST = 10.0  # seconds
_LAST = 15  # the niceness: while others need the cores, a hash of a stranger takes seconds


def _stand_last() -> None:
    with suppress(OSError, AttributeError):  # where a thread has no niceness of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LAST)


_gently = ThreadPoolExecutor(1, thread_name_prefix="hashing", initializer=_stand_last)
_visit: "ContextVar[_Visit | None]" = ContextVar("visit", default=None)


class HashingBusy(Unavailable):
    sentence = "Too many passwords are being checked just now; try again in a moment."


class _Visit:
    """Of a stranger: all that is hashed in it is one turn, which rests before it is given back."""

    def __init__(self) -> None:
        self._turn: ExitStack | None = None
        self._worked = 0.0

    def hash(self, hash_it: Callable[[], str]) -> str:
        if self._turn is None:
            with ExitStack() as turn:
                turn.enter_context(_turn("strangers"))
                self._turn = turn.pop_all()
        return _gently.submit(self._work, hash_it).result()

    def _work(self, hash_it: Callable[[], str]) -> str:
        begun = time.thread_time()
        try:
            return hash_it()
        finally:
            self._worked += time.thread_time() - begun

    def end(self) -> None:
        if self._turn is not None:
            _gently.submit(_rest, self._turn, self._worked)


def _rest(turn: ExitStack, worked: float) -> None:
    """Nobody else has the turn meanwhile: so strangers, however many, have a tenth of a core at most."""
    with turn:
        time.sleep(min(_RESTS * worked, _LONGEST_REST))


@contextmanager
def for_strangers() -> Iterator[None]:
    """What is hashed inside is for a caller who has proven nothing yet."""
    visit = _Visit()
    token = _visit.set(visit)
    try:
        yield
    finally:
        _visit.reset(token)
        visit.end()


def strangers_must_wait() -> bool:
    """Whether a password of one would be refused just now: for whoever would spare us all that comes before."""
    if _LOCKS["strangers"].locked():
        return True
    try:
        with _turn_among_processes("strangers", until=0.0, to_look=True):
            return False
    except HashingBusy:
        return True


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's own. Every check and every change of a password comes through here, whichever page it is on."""

    def encode(self, password: Any, salt: str, iterations: int | None = None) -> str:
        visit = _visit.get()
        if visit is not None:
            return visit.hash(partial(super().encode, password, salt, iterations))
        with _turn("operators"):
            return super().encode(password, salt, iterations)


@contextmanager
def _turn(lane: str) -> Iterator[None]:
    until = time.monotonic() + _PATIENCE[lane]
    if not _LOCKS[lane].acquire(timeout=_PATIENCE[lane]):
        raise HashingBusy(retry_after=3)
    try:
        with _turn_among_processes(lane, until=until):
            yield
    finally:
        _LOCKS[lane].release()


@contextmanager
def _turn_among_processes(lane: str, *, until: float, to_look: bool = False) -> Iterator[None]:
    """By a file in the folder that they share; the kernel gives the turn back, even of a process that was killed.
    `to_look`: those who only look are not in each other's way.
    """
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder is None:
        yield
        return
    with Path(folder, f"hashing-{lane}.lock").open("ab") as file:
        while not _is_locked(file.fileno(), fcntl.LOCK_SH if to_look else fcntl.LOCK_EX):
            if time.monotonic() >= until:
                raise HashingBusy(retry_after=3)
            time.sleep(0.02)
        yield


def _is_locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
