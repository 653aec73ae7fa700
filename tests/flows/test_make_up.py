"""`make up`, from an empty folder to a page that answers, and back to nothing."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded.ports import free_port
from tests.embedded.processes_of import processes_of, wait_until
from tests.whole import Rung

pytestmark = pytest.mark.timeout(300)

Start = Callable[[str], Rung]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """The same name is the same folder and the same port again."""
    started: list[Rung] = []
    ports: dict[str, int] = {}

    def start(name: str) -> Rung:
        started.append(Rung(tmp_path / f"{name} with a space", ports.setdefault(name, free_port())))
        return started[-1]

    yield start
    for rung in started:
        if rung.popen.poll() is None:
            rung.end(signal.SIGKILL)
    wait_until(lambda: processes_of(tmp_path) == [], seconds=60)


def test_up_down_and_up_again_with_the_same_data_also_after_kill_9_of_the_supervisor(start: Start) -> None:
    rung = start("home").wait_until_ready()
    wait_until(rung.is_ready, seconds=60)
    wait_until(lambda: "Ctrl-C stops it" in rung.said())
    assert re.search(r"It took \d+\.\d seconds", rung.said())
    with rung.database() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    assert rung.end(signal.SIGINT) == 0, rung.said()
    assert "Traceback" not in rung.said()
    assert processes_of(rung.folder) == []

    again = start("home").wait_until_ready()
    with again.database() as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    again.end(signal.SIGKILL)

    healed = start("home").wait_until_ready()
    wait_until(healed.is_ready, seconds=60)
    with healed.database() as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    assert healed.end(signal.SIGTERM) == 0
    assert processes_of(healed.folder) == []


def test_two_run_side_by_side_and_whatever_is_killed_comes_back(start: Start) -> None:
    one, two = start("one"), start("two")
    wait_until(one.wait_until_ready().is_ready, seconds=60)
    wait_until(two.wait_until_ready().is_ready, seconds=60)
    assert one.end(signal.SIGINT) == 0
    wait_until(two.is_ready, seconds=60)
    for name in ("web", "worker", "postgres", "valkey"):
        killed = two.pid_of(name)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda name=name, killed=killed: two.pid_of(name) != killed, seconds=30)
        wait_until(two.is_ready, seconds=60)
    assert two.end(signal.SIGINT) == 0
    assert processes_of(two.folder) == []
