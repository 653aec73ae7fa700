"""The wish to stop, as heard from signals: once to stop in order, twice to hurry."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SLICE_SECONDS = 0.05


class Stopping(Exception):
    """Raised out of a pause, never out of a signal handler: no step is left half done."""


class StopSwitch:
    def __init__(self) -> None:
        self._asked = 0

    def install(self) -> None:
        signal.signal(signal.SIGINT, self._hear)
        signal.signal(signal.SIGTERM, self._hear)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup a closed terminal means nothing
            signal.signal(signal.SIGHUP, self._hear)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """For a while, and then as it was."""
        usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.install()
        try:
            yield
        finally:
            for number, handler in usual.items():
                signal.signal(number, handler)

    def press(self) -> None:
        self._asked += 1

    @property
    def pressed(self) -> bool:
        return self._asked > 0

    def hurried(self) -> bool:
        return self._asked > 1

    def pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            if self.pressed:
                raise Stopping
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, SLICE_SECONDS))

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.press()
