import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import preflight
from config.embedded.home import Home
from config.embedded.ports import free_port

SCRIPT = Path(preflight.__file__)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def preflight_says(**environ: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-I", str(SCRIPT)],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return run.returncode, run.stderr.strip()


def test_nothing_is_said_when_nothing_is_wrong(tmp_path: Path) -> None:
    assert preflight_says(RUNG_HOME=str(tmp_path / "with a space"), PORT=str(free_port())) == (0, "")


def test_a_taken_port_is_one_sentence_with_a_way_out(tmp_path: Path, taken_port: int) -> None:
    sentence = f"Port {taken_port} is taken. Free it, or choose another: make up PORT={taken_port + 1}"
    assert preflight_says(RUNG_HOME=str(tmp_path), PORT=str(taken_port)) == (1, sentence)


@pytest.mark.parametrize("port", ["0", "65536", "eight", "-1", "8000.5"])
def test_a_port_that_is_none_is_one_sentence(tmp_path: Path, port: str) -> None:
    code, sentence = preflight_says(RUNG_HOME=str(tmp_path), PORT=port)
    assert (code, sentence.count("\n")) == (1, 0)
    assert sentence.startswith("PORT must be a number from 1 to 65535")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()  # even root cannot make a folder inside a file
    home = tmp_path / "file" / "home"
    code, sentence = preflight_says(RUNG_HOME=str(home), PORT=str(free_port()))
    assert (code, sentence.split(":")[0]) == (1, f"{home} cannot be written")


def test_a_rung_that_runs_already_is_named_rather_than_its_port(tmp_path: Path, taken_port: int) -> None:
    with Home(tmp_path).lock(port=taken_port):
        code, sentence = preflight_says(RUNG_HOME=str(tmp_path), PORT=str(taken_port))
    assert code == 1
    assert sentence == (f"Rung is already running from this folder (pid {os.getpid()}, http://127.0.0.1:{taken_port}).")


def test_the_port_is_left_to_the_supervisor_when_a_killed_one_left_its_web_process(
    tmp_path: Path, taken_port: int
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "web.pid.json").touch()
    assert preflight_says(RUNG_HOME=str(tmp_path), PORT=str(taken_port)) == (0, "")


def test_an_old_python_is_told_apart_and_can_read_the_file() -> None:
    assert preflight.python_problem((3, 11)) == ""
    assert "and this one is 3.9" in preflight.python_problem((3, 9))
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
