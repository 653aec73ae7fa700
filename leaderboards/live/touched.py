"""In the drainer: which boards a send has touched. A thread of its own looks, four times a second at most, whether
anybody watches them; who sends only leaves their names and waits for nothing.
"""

import os
import threading
from collections.abc import Sequence
from time import monotonic, sleep

import structlog
from django.utils import timezone

from config.valkey import ValkeyUnavailable
from leaderboards.boards.store import Change
from leaderboards.live import watching
from leaderboards.live.watching import Watched
from leaderboards.models import Mode

log = structlog.get_logger(__name__)
_EVERY = 0.26  # seconds: a little more than the gate is closed
_REST = 5  # times as long as a look took that failed


class Touched:
    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, names: set[str]) -> None:
        with self._lock:
            self._names |= names
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="touched", daemon=True)
                self._thread.start()
        self._some.set()

    def _run(self) -> None:
        while True:
            self._some.wait()
            began = monotonic()
            try:
                self._look()
            except ValkeyUnavailable:
                self._taken()
                log.warning("watchers_unknown", consequence="beat looks what has changed")
                sleep(_REST * (monotonic() - began))
            except Exception:
                log.exception("touched_boards_not_marked")
            sleep(max(0.0, began + _EVERY - monotonic()))

    def _look(self) -> None:
        """After the touch, so that whoever began to watch before it is seen."""
        names = self._taken()
        told = {watching.unseen(name) for name in names}  # with all that is new there
        there = set(watching.boards(at=timezone.now()))
        watched = sorted(name for name in names - told if watching.marked_as(name)[0] in there)
        if not watched:
            return
        opened = watching.opened(watched)
        watching.mark(opened)
        if later := set(watched).difference(opened):
            self.add(later)  # another worker has just had them announced: not lost, only later

    def _taken(self) -> set[str]:
        self._some.clear()
        with self._lock:
            names, self._names = self._names, set()
        return names

    def forget_thread(self) -> None:
        """In a child after a fork: the thread stayed with the parent."""
        self.__init__()  # type: ignore[misc]  # the lock may have been held by a thread that is not here


_touched = Touched()
os.register_at_fork(after_in_child=_touched.forget_thread)


def boards_touched(mode: Mode, changes: Sequence[Change]) -> None:
    """One of `settings.AFTER_SEND`. Whether a window is the current one is for who announces it to say."""
    names = set()
    for change in changes:
        for window in {change.window, change.window.partition(":")[0]}:
            name = Watched(mode.pk, window, change.scope).name
            names.add(watching.unseen(name) if change.unseen else name)
    _touched.add(names)
