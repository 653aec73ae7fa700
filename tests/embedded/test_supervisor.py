import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.embedded.home import PROJECT_ROOT
from config.embedded.ports import free_port
from tests.embedded.processes_of import processes_of, wait_until


class Up:
    """A supervisor at work over a pretended house, and everything it has said."""

    def __init__(self, folder: Path, port: int, *wishes: str) -> None:
        self.folder, self.port = folder, port
        self.log = folder.with_suffix(".log")
        command = [sys.executable, "-m", "tests.embedded.pretend_house", str(folder), str(port), *wishes]
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=log, stderr=subprocess.STDOUT)

    def said(self) -> str:
        return self.log.read_text()

    def hear(self, words: str) -> "Up":
        wait_until(lambda: words in self.said() or self.popen.poll() is not None)
        assert words in self.said()
        return self

    def pid_of(self, name: str) -> int:
        pid: int = json.loads((self.folder / "run" / f"{name}.pid.json").read_text())["pid"]
        return pid

    def end(self, *signals: signal.Signals) -> int:
        for number in signals:
            self.popen.send_signal(number)
        return self.popen.wait(timeout=20)


Start = Callable[..., Up]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Start]:
    started: list[Up] = []
    port = free_port()

    def start(*wishes: str, folder: str = "a home", port: int = port) -> Up:
        started.append(Up(tmp_path / folder, port, *wishes))
        return started[-1]

    yield start
    for one in started:
        if one.popen.poll() is None:
            one.popen.kill()
            one.popen.wait(timeout=60)
    wait_until(lambda: processes_of(tmp_path) == [])


def test_it_says_what_it_does_is_ready_and_stops_in_order(up: Start) -> None:
    rung = up().hear("Ctrl-C stops it")
    assert f"\nRung is ready at http://127.0.0.1:{rung.port}\ncurl http://…\n" in rung.said()
    assert "prepare  | migrated" in rung.said()
    assert rung.end(signal.SIGINT) == 0
    steps = ["Preparing the database", "Starting web", "ready at", "Stopping web", "Stopping beat", "Stopping worker"]
    places = [rung.said().index(step) for step in steps]
    assert places == sorted(places)
    assert processes_of(rung.folder) == []
    assert list((rung.folder / "run").glob("*.json")) == []


def test_a_signal_in_the_middle_of_the_start_stops_cleanly(up: Start) -> None:
    rung = up("slow").hear("prepare  | up")
    assert rung.end(signal.SIGTERM) == 0
    assert processes_of(rung.folder) == []
    assert "ready at" not in rung.said()


def test_a_second_signal_hurries(up: Start) -> None:
    rung = up("deaf").hear("Ctrl-C stops it").hear("beat     | up")
    rung.popen.send_signal(signal.SIGINT)
    rung.hear("Stopping beat")
    assert rung.end(signal.SIGINT) == 0
    assert processes_of(rung.folder) == []


def test_a_killed_child_comes_back(up: Start) -> None:
    rung = up().hear("Ctrl-C stops it")
    first = rung.pid_of("worker")
    os.kill(first, signal.SIGKILL)
    rung.hear("worker ended (signal 9); starting it again in 1 s.")
    wait_until(lambda: rung.pid_of("worker") != first)
    assert rung.end(signal.SIGINT) == 0


def test_after_kill_9_nothing_is_left_and_the_next_start_works(up: Start) -> None:
    rung = up().hear("Ctrl-C stops it")
    rung.end(signal.SIGKILL)
    again = up()
    wait_until(lambda: again.said().count("Ctrl-C stops it") == 2)
    assert again.end(signal.SIGINT) == 0
    assert processes_of(rung.folder) == []


def test_what_even_the_kernel_could_not_stop_is_ended_by_the_next_start(up: Start) -> None:
    rung = up("deaf").hear("Ctrl-C stops it").hear("beat     | up")
    record = rung.folder / "run" / "beat.pid.json"
    record.write_text(record.read_text().replace("600.0", "0.2"))
    deaf = rung.pid_of("beat")
    rung.end(signal.SIGKILL)
    up().hear("Ended what an earlier run had left behind: beat")
    assert deaf not in processes_of(rung.folder)


def test_a_failing_preparation_is_one_sentence_and_nothing_is_left(up: Start) -> None:
    rung = up("unprepared")
    assert rung.popen.wait(timeout=20) == 1
    assert "prepare  | no disk" in rung.said()
    assert "rung: The database could not be prepared: the lines marked prepare say why." in rung.said()
    assert "Traceback" not in rung.said()
    assert processes_of(rung.folder) == []


def test_not_becoming_ready_names_what_is_wrong(up: Start) -> None:
    rung = up("unready")
    assert rung.popen.wait(timeout=60) == 1
    assert "rung: Rung was not ready within 2 seconds: workers: not seen yet." in rung.said()
    assert processes_of(rung.folder) == []


def test_a_second_start_in_the_same_folder_is_refused_with_the_address_of_the_first(up: Start) -> None:
    first = up().hear("Ctrl-C stops it")
    second = up(port=free_port())
    assert second.popen.wait(timeout=20) == 1
    where = f"(pid {first.popen.pid}, http://127.0.0.1:{first.port})"
    assert f"rung: Rung is already running from this folder {where}." in second.said()
    assert first.popen.poll() is None


def test_a_taken_port_is_one_sentence(up: Start) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        rung = up(port=squatter.getsockname()[1])
        assert rung.popen.wait(timeout=20) == 1
    assert f"rung: Port {rung.port} is taken." in rung.said()


def test_two_run_side_by_side(up: Start) -> None:
    one, two = up(folder="one"), up(folder="two", port=free_port())
    for rung in (one, two):
        rung.hear(f"Rung is ready at http://127.0.0.1:{rung.port}")
    assert one.end(signal.SIGINT) == 0
    assert two.popen.poll() is None
    assert two.end(signal.SIGINT) == 0
