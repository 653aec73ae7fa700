"""A memory of seconds for look-ups that every request makes (keys, games), emptied in every process at once when
something changes. Nothing is remembered while changes cannot be heard.
"""

import os
import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any, Generic, TypeVar

import structlog
from django.conf import settings
from django.db import transaction

from config import valkey

log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Changes:
    """Hears "something changed" from every process; `epoch` rises with each, and is None while deaf."""

    def __init__(self) -> None:
        self.epoch: int | None = None
        self._heard = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def begin_to_listen(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._listen, name="recall", daemon=True)
                self._thread.start()

    def _listen(self) -> None:
        valkey.listen(channel(), on_message=self.hear, on_connected=self.hear, on_lost=self._go_deaf, until=self._stop)

    def hear(self, news: str = "") -> None:
        """`news`: that one thing on a shelf is not what it was; else anything may be."""
        shelf, _, key = news.partition(" ")
        with self._lock:
            self._heard += not shelf
            self.epoch = self._heard
        if shelf in _shelves:
            _shelves[shelf].drop(int(key))

    def made_here(self) -> None:
        """A change of this process's own. To a deaf one it says nothing about what others change."""
        with self._lock:
            if self.epoch is not None:
                self._heard += 1
                self.epoch = self._heard

    def _go_deaf(self) -> None:
        with self._lock:
            self.epoch = None

    def forget_thread(self) -> None:
        """In a child after a fork: the thread that listened stayed with the parent."""
        self.__init__()  # type: ignore[misc]  # the lock, too, may have been held by a thread that is not here


changes = _Changes()
os.register_at_fork(after_in_child=changes.forget_thread)


def channel() -> str:
    # pub/sub does not know of databases, so the database is part of the name
    return f"rung:forget:{settings.CACHE_URL.rpartition('/')[2]}"


class Recall(Generic[K, V]):
    """`load(key)`, remembered for a few seconds. What is not found (None), or not worth it, is not remembered."""

    def __init__(
        self,
        load: Callable[[K], V | None],
        *,
        seconds: float = 5.0,
        size: int = 10_000,
        worth: Callable[[V], bool] = lambda _: True,
    ) -> None:
        self._load = load
        self._worth = worth
        self._seconds = seconds
        self._size = size
        self._kept: dict[K, tuple[int, float, V]] = {}

    def drop(self) -> None:
        """All of it, in this process."""
        self._kept.clear()

    def at_hand(self, key: K) -> V | None:
        """Without loading it."""
        kept = self._kept.get(key)
        return kept[2] if kept is not None and kept[0] == changes.epoch and kept[1] > time.monotonic() else None

    def get(self, key: K) -> V | None:
        epoch = changes.epoch
        if epoch is None:
            changes.begin_to_listen()
            return self._load(key)
        kept = self._kept.get(key)
        now = time.monotonic()
        if kept is not None and kept[0] == epoch and kept[1] > now:
            return kept[2]
        value = self._load(key)
        if value is not None and self._worth(value):
            if len(self._kept) >= self._size:
                self._kept.clear()
            # filed under the epoch from before the look-up: a change heard meanwhile makes it void
            self._kept[key] = (epoch, now + self._seconds, value)
        return value


class Shelf(Generic[K, V]):
    """Things that are loaded many at a time and kept until they are told to have changed, or for a minute.

    What is not there is not remembered, and while nothing can be heard nothing is.
    """

    def __init__(
        self, name: str, load: Callable[[Collection[K]], Mapping[K, V]], *, seconds: float = 60, size: int = 200_000
    ) -> None:
        self._load, self._seconds, self._size = load, seconds, size
        self._kept: dict[K, tuple[float, V]] = {}
        self._epoch: int | None = None
        self._drops = 0
        self.name = name
        _shelves[name] = self

    def get(self, keys: Collection[K]) -> dict[K, V]:
        """Those that there are."""
        epoch, drops = changes.epoch, self._drops
        if epoch is None or epoch != self._epoch:
            changes.begin_to_listen()
            self._kept, self._epoch = {}, epoch
        now, kept = time.monotonic(), self._kept
        found = {key: entry[1] for key in keys if (entry := kept.get(key)) is not None and entry[0] > now}
        missing = [key for key in keys if key not in found] if len(found) != len(keys) else []
        if not missing:
            return found
        loaded = self._load(missing)
        if epoch is not None and drops == self._drops:  # else one of them may have changed while it was read
            if len(kept) + len(loaded) > self._size:
                kept.clear()
            kept.update((key, (now + self._seconds, value)) for key, value in loaded.items())
        return {**found, **loaded}

    def drop(self, key: K) -> None:
        self._drops += 1
        self._kept.pop(key, None)

    def changed(self, key: K) -> None:
        """In every process, this one first. Keys that change are numbers."""
        self.drop(key)
        _tell(f"{self.name} {key}")


_shelves: dict[str, Shelf[Any, Any]] = {}


def forget() -> None:
    """Every process forgets, this one first. A process that cannot hear it remembers nothing anyway."""
    changes.made_here()
    _tell("")


def _tell(news: str) -> None:
    try:
        valkey.publish(channel(), news)
    except valkey.ValkeyUnavailable:
        log.warning("recall_not_told", consequence="other processes may remember for up to five seconds")


def forget_after_commit() -> None:
    """on_commit, because a change may come from the admin, whose transaction is not ours to end."""
    transaction.on_commit(forget)
