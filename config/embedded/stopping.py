"""The wish to stop, as heard from signals: once to stop in order, twice to hurry."""

import signal
import time
from types import FrameType

SLICE_SECONDS = 0.05
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping(Exception):  # noqa: N818  not an error: somebody asked for it
    """Raised out of a pause, never out of a signal handler: no step is left half done."""


class StopSwitch:
    def __init__(self) -> None:
        self._asked = 0

    def install(self) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, self._hear)

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
