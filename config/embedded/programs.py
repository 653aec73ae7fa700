"""One program to run, and running it so that nothing of it is left when it ends or when we are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from config.embedded.processes import kill_family, sighting

LAUNCH = Path(__file__).with_name("launch.py")
GLANCE_SECONDS = 0.05
HURRIED_SECONDS = 1.0
LAST_WAIT_SECONDS = 10

# Lets time pass. The supervisor's raises when somebody asked it to stop; a test's is time.sleep.
Pause = Callable[[float], None]
Stream = int | IO[bytes]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a program believes to be: in a user namespace of its own, or by really becoming that user."""

    uid: int
    gid: int
    namespace: bool


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stop_signal: signal.Signals = signal.SIGTERM
    patience: float = 10.0
    identity: Identity | None = None

    def command(self) -> list[str]:
        orders: dict[str, object] = {"parent": os.getpid(), "stop_signal": int(self.stop_signal)}
        if self.identity:
            who = self.identity
            orders |= {"uid": who.uid, "gid": who.gid, "namespace": who.namespace}
        return [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(orders), *self.argv]


class Running:
    """A program that was started. `exit_code` is None while it lives."""

    def __init__(self, program: Program, *, output: Stream, errors: Stream, given: Stream) -> None:
        self.program = program
        self.popen = subprocess.Popen(  # noqa: S603  argv is ours, and there is no shell
            program.command(),
            cwd=program.folder,
            env=dict(program.env),
            stdin=given,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        self.pid = self.popen.pid

    def exit_code(self) -> int | None:
        """The first look at a death takes what the dead left running, while the pid is surely still theirs."""
        if self.popen.returncode is not None:
            return self.popen.returncode
        if _has_died(self.pid):
            kill_family(self.pid)
        return self.popen.poll()

    def ask_to_stop(self) -> None:
        if self.exit_code() is None:
            self.popen.send_signal(self.program.stop_signal)

    def kill(self) -> None:
        if self.exit_code() is None:
            kill_family(self.pid)
        self.popen.wait(timeout=LAST_WAIT_SECONDS)

    def stop(self, *, hurried: Callable[[], bool] = lambda: False) -> None:
        """Its own way first; when its patience is over, which is soon when hurried, the hard way."""
        self.ask_to_stop()
        asked_at = time.monotonic()
        while self.exit_code() is None:
            patience = min(self.program.patience, HURRIED_SECONDS) if hurried() else self.program.patience
            if time.monotonic() - asked_at > patience:
                self.kill()
            time.sleep(GLANCE_SECONDS)


def spawn(
    program: Program,
    *,
    output: Stream = subprocess.PIPE,
    errors: Stream = subprocess.STDOUT,
    given: Stream = subprocess.DEVNULL,
) -> Running:
    """From the main thread only: the promise to die is kept when the thread that started a program ends."""
    return Running(program, output=output, errors=errors, given=given)


def wait_for_end(running: Running, *, pause: Pause) -> int:
    """Its exit code; killed when the pause is interrupted."""
    try:
        while (code := running.exit_code()) is None:
            pause(GLANCE_SECONDS)
    except BaseException:
        running.kill()
        raise
    return code


def _has_died(pid: int) -> bool:
    """Looks without reaping, so that the pid stays taken."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return sighting(pid) is None
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
