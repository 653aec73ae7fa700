"""Histograms in this process's memory: a look-up costs no call while what is held is fresh, and one when it is not."""

import time
from contextlib import suppress
from threading import Lock

from django.utils import timezone

from config.valkey import ValkeyUnavailable
from leaderboards.boards import published
from leaderboards.boards.board import Board
from leaderboards.boards.histogram import Made, histogram_make
from leaderboards.rules.histogram import Histogram

SECOND = 1.0  # how long a large board's is held, which a task makes
MOMENT = 0.1  # a small one's, which costs us one call of a fraction of a millisecond
NOTED_EVERY = 5.0
SIZE = 1000  # boards; 24 KB each where they are large
_Key = tuple[int, int, str, str]  # mode, generation, window, scope
_EMPTY = Made(0, Histogram(), whole=True)


class _Held:
    """One board's. The lock is had by who fetches it; others take what is there."""

    __slots__ = ("at", "lock", "made", "noted_at")

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Made | None = None
        self.at = self.noted_at = float("-inf")

    def is_fresh(self, version: int | None) -> bool:
        if self.made is None:
            return False
        age = time.monotonic() - self.at
        return self.made.version == version or age < (MOMENT if self.made.whole else SECOND)


class Histograms:
    def __init__(self) -> None:
        self._held: dict[_Key, _Held] = {}

    def of(self, board: Board, *, version: int | None = None) -> Histogram:
        """`version`: the board's, where the caller has just seen it: as long as it is the same, so is the histogram."""
        held = self._held_of(board)
        if not held.is_fresh(version):
            before = held.made
            if held.lock.acquire(blocking=before is None):
                try:
                    if held.made is before:  # else another has just fetched it
                        held.made, held.at = _fetched(board, before), time.monotonic()
                finally:
                    held.lock.release()
        made = held.made or _EMPTY
        if not made.whole:
            _note(board, held)
        return made.histogram

    def forget(self) -> None:
        self._held.clear()

    def _held_of(self, board: Board) -> _Held:
        key = (board.mode.pk, board.mode.generation, board.window.id, board.scope)
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= SIZE:
                with suppress(StopIteration, KeyError, RuntimeError):  # another thread does the same
                    del self._held[next(iter(self._held))]
            held = self._held.setdefault(key, _Held())
        return held


def _fetched(board: Board, before: Made | None) -> Made:
    """As published by the task. A small board's is made here, and so is a large one's that nobody has read lately."""
    if before is None or not before.whole:
        with suppress(ValkeyUnavailable):  # a cache that is down is an empty cache
            if found := published.published(board):
                return found[0]
    if board.is_untouched:
        return _EMPTY
    made = histogram_make(board)
    if not made.whole:
        with suppress(ValkeyUnavailable):
            published.publish(board, made, at=timezone.now())
    return made


def _note(board: Board, held: _Held) -> None:
    """That it is read, so that the task keeps it fresh."""
    if time.monotonic() - held.noted_at < NOTED_EVERY:
        return
    held.noted_at = time.monotonic()
    with suppress(ValkeyUnavailable):
        published.note_read(board, at=timezone.now())


histograms = Histograms()
