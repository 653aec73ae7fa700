"""One program kept alive: its lines relayed, started again when it dies, later each time it dies soon."""

import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO

from config.embedded.console import Console
from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.programs import Program, Running, spawn
from config.embedded.records import record_forget, record_write

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
HEALTHY_AFTER_SECONDS = 60.0
LONGEST_LINE = 64 * 1024
_LAST_WORDS_SECONDS = 2.0


class Backoff:
    """1, 2, 4 … 30 seconds; from the start again after a minute of health."""

    def __init__(self) -> None:
        self._next = FIRST_DELAY

    def delay(self, *, ran_for: float) -> float:
        if ran_for >= HEALTHY_AFTER_SECONDS:
            self._next = FIRST_DELAY
        delay, self._next = self._next, min(self._next * 2, LONGEST_DELAY)
        return delay


class Child:
    """`program` is asked anew for every start, so that what must be put right before one is put right."""

    def __init__(self, name: str, program: Callable[[], Program], *, home: Home, console: Console) -> None:
        self.name = name
        self._program = program
        self._home = home
        self._console = console
        self._running: Running | None = None
        self._relaying: threading.Thread | None = None
        self._backoff = Backoff()
        self._started_at = 0.0
        self._start_at: float | None = None
        self._kill_at: float | None = None

    @property
    def pid(self) -> int:
        return self._running.pid if self._running else 0

    def start(self) -> None:
        self._start_at = self._kill_at = None
        self._started_at = time.monotonic()
        self._running = spawn(self._program())
        record_write(self._home, self._running)
        output = self._running.popen.stdout
        if output is not None:
            self._relaying = threading.Thread(target=self._relay, args=(output,), daemon=True)
            self._relaying.start()

    def exit_code(self) -> int | None:
        return self._running.exit_code() if self._running else None

    def watch(self, now: float) -> None:
        """To be called often, from the main thread. Never waits."""
        if self._start_at is not None:
            if now >= self._start_at:
                self._start_again(now)
        elif (code := self.exit_code()) is not None:
            self._plan_start(now, f"{self.name} ended ({_in_words(code)})")
        elif self._kill_at is not None and now >= self._kill_at and self._running:
            self._running.kill()

    def ask_to_restart(self, now: float, *, why: str) -> None:
        if self._running is None or self._kill_at is not None or self._start_at is not None:
            return
        self._console.say(f"Restarting {self.name}: {why}.")
        self._running.ask_to_stop()
        self._kill_at = now + self._running.program.patience

    def stop(self, *, hurried: Callable[[], bool]) -> None:
        self._start_at = None
        if self._running is None:
            return
        try:
            self._running.stop(hurried=hurried)
        except subprocess.TimeoutExpired:
            self._console.say(f"{self.name} (pid {self.pid}) could not be ended; the next start will try again.")
            return
        if self._relaying:
            self._relaying.join(_LAST_WORDS_SECONDS)  # what it forked may hold its output open for ever
        record_forget(self._home, self.name)

    def _start_again(self, now: float) -> None:
        try:
            self.start()
        except (CannotStart, OSError) as error:
            self._running = None
            self._plan_start(now, f"{self.name} did not start: {error}")

    def _plan_start(self, now: float, what_happened: str) -> None:
        delay = self._backoff.delay(ran_for=now - self._started_at)
        self._start_at = now + delay
        self._console.say(f"{what_happened}; starting it again in {delay:.0f} s.")

    def _relay(self, output: IO[bytes]) -> None:
        with output:
            while line := output.readline(LONGEST_LINE):
                self._console.relay(self.name, line.decode(errors="replace").rstrip())


def _in_words(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
