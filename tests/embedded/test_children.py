import io
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.children import Backoff, Child
from config.embedded.console import Console
from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.programs import Program
from tests.embedded.processes_of import wait_until

DIES = "print('hello', flush=True); raise SystemExit(3)"
LIVES = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + LIVES


class Nursery:
    """One child of one line of Python, and what the console heard."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.make()
        self.heard = io.StringIO()
        self.children: list[Child] = []

    def child(self, code: str, *, patience: float = 10.0) -> Child:
        program = Program("web", (sys.executable, "-c", code), folder=self.home.path, patience=patience)
        self.children.append(Child("web", lambda: program, home=self.home, console=Console(self.heard)))
        return self.children[-1]


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path)
    yield nursery
    for child in nursery.children:
        child.stop(hurried=lambda: True)


def test_the_delay_doubles_up_to_half_a_minute_and_forgets_after_a_minute_of_health() -> None:
    backoff = Backoff()
    assert [backoff.delay(ran_for=0) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert backoff.delay(ran_for=60) == 1
    assert backoff.delay(ran_for=59) == 2


def test_a_child_that_dies_is_started_again_each_time_later(nursery: Nursery) -> None:
    child = nursery.child(DIES)
    child.start()
    for delay in (1, 2, 4):
        first = child.pid
        wait_until(lambda: child.exit_code() == 3)
        now = time.monotonic()
        child.watch(now)
        child.watch(now + delay - 0.1)
        assert child.pid == first
        child.watch(now + delay + 0.1)
        assert child.pid != first
    said = nursery.heard.getvalue()
    for delay in (1, 2, 4):
        assert f"web ended (exit code 3); starting it again in {delay} s." in said


def test_its_lines_carry_its_name(nursery: Nursery) -> None:
    nursery.child(LIVES).start()
    wait_until(lambda: nursery.heard.getvalue() == "web      | up\n")


def test_a_child_that_hangs_is_asked_and_then_made_to_restart(nursery: Nursery) -> None:
    child = nursery.child(DEAF, patience=5.0)
    child.start()
    wait_until(lambda: "up" in nursery.heard.getvalue())
    hung, now = child.pid, time.monotonic()
    child.ask_to_restart(now, why="it does not answer")
    child.watch(now + 4.9)
    assert child.exit_code() is None
    child.watch(now + 5.1)
    assert child.exit_code() == -signal.SIGKILL
    child.watch(now + 5.2)
    child.watch(now + 6.3)
    assert child.pid != hung
    assert nursery.heard.getvalue().count("Restarting web: it does not answer.") == 1


def test_a_start_that_fails_is_tried_again(nursery: Nursery) -> None:
    def refuses() -> Program:
        raise CannotStart("another server holds the folder")

    child = nursery.child(DIES)
    child.start()
    wait_until(lambda: child.exit_code() is not None)
    now = time.monotonic()
    child.watch(now)
    child._program = refuses  # noqa: SLF001  the world changed between two starts
    child.watch(now + 1.1)
    assert "web did not start: another server holds the folder; starting it again in 2 s." in nursery.heard.getvalue()


def test_a_stopped_child_leaves_no_record(nursery: Nursery) -> None:
    child = nursery.child(LIVES)
    child.start()
    assert [file.name for file in nursery.home.run.iterdir()] == ["web.pid.json"]
    child.stop(hurried=lambda: False)
    assert list(nursery.home.run.iterdir()) == []


def test_a_console_nobody_reads_any_more_does_not_stop_the_servers() -> None:
    stream = io.StringIO()
    console = Console(stream)
    stream.close()
    console.say("into the void")
