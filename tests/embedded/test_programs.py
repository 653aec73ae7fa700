"""Running a program, and leaving nothing of it."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from config.embedded.home import PROJECT_ROOT, Home
from config.embedded.processes import sighting
from config.embedded.programs import Program, Running, spawn, wait_for_end
from config.embedded.records import Record, record_write, records_heal
from config.embedded.stopping import Stopping
from tests.embedded.processes_of import wait_until

SLEEP = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def python(code: str, *, home: Home, patience: float = 10.0) -> Program:
    env = {"RUNG_HOME": str(home.path)}
    return Program("some", (sys.executable, "-c", code), folder=home.path, env=env, patience=patience)


def first_line(running: Running) -> str:
    assert running.popen.stdout
    return running.popen.stdout.readline().decode().strip()


def close(running: Running) -> None:
    running.kill()
    assert running.popen.stdout
    running.popen.stdout.close()


def test_a_program_leads_a_group_of_its_own_and_stops_when_asked(home: Home) -> None:
    running = spawn(python(SLEEP, home=home))
    first_line(running)
    assert os.getpgid(running.pid) == running.pid
    running.stop()
    assert running.exit_code() == -signal.SIGTERM
    close(running)


def test_a_deaf_program_is_killed_after_its_patience_or_soon_when_hurried(home: Home) -> None:
    for patience, hurry in ((0.2, False), (600.0, True)):
        running = spawn(python(DEAF, home=home, patience=patience))
        first_line(running)
        running.stop(hurried=lambda hurry=hurry: hurry)
        assert running.exit_code() == -signal.SIGKILL
        close(running)


def test_what_a_dead_program_left_running_ends_with_it(home: Home) -> None:
    running = spawn(python(PARENT, home=home))
    child = int(first_line(running))
    os.kill(running.pid, signal.SIGKILL)
    wait_until(lambda: running.exit_code() is not None)
    wait_until(lambda: sighting(child) is None)
    close(running)


def test_a_program_dies_with_a_killed_supervisor(home: Home) -> None:
    code = "import sys; from tests.embedded.test_programs import *; h = Home(Path(sys.argv[1]))\n"
    code += "r = spawn(python(SLEEP, home=h)); first_line(r); print(r.pid, flush=True); time.sleep(600)"
    supervisor = subprocess.Popen(
        [sys.executable, "-c", code, str(home.path)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True
    )
    assert supervisor.stdout
    pid = int(supervisor.stdout.readline())
    assert sighting(pid) is not None
    supervisor.kill()
    supervisor.wait(timeout=60)
    supervisor.stdout.close()
    wait_until(lambda: sighting(pid) is None)


def test_an_interrupted_wait_leaves_no_program(home: Home) -> None:
    def interrupted(_seconds: float) -> None:
        raise Stopping

    running = spawn(python(SLEEP, home=home))
    with pytest.raises(Stopping):
        wait_for_end(running, pause=interrupted)
    assert running.exit_code() == -signal.SIGKILL
    close(running)


def test_a_program_that_is_not_there_is_one_sentence(home: Home) -> None:
    running = spawn(Program("none", ("/no/such/program",), folder=home.path))
    assert first_line(running) == "/no/such/program cannot be started: No such file or directory"
    assert running.popen.wait(timeout=60) == 1
    close(running)


def test_what_a_killed_supervisor_left_is_ended_by_the_next(home: Home) -> None:
    deaf = replace(python(DEAF, home=home, patience=0.2), env={})
    running = spawn(deaf)
    first_line(running)
    record_write(home, running)
    assert records_heal(home, pause=time.sleep) == ["some"]
    assert running.popen.wait(timeout=60) == -signal.SIGKILL
    assert list(home.run.iterdir()) == []
    close(running)


def test_a_recycled_pid_is_never_killed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    running = spawn(python(SLEEP, home=home))
    first_line(running)
    record_write(home, running)
    record = Record("some", running.pid, "an earlier time", int(signal.SIGKILL), 0.1)
    file = home.run / "some.pid.json"
    file.write_text(file.read_text().replace(sighting(running.pid).started, record.started))
    monkeypatch.setattr("config.embedded.records.environment_has", lambda *_: False)  # the other program is not ours

    assert records_heal(home, pause=time.sleep) == []
    assert running.exit_code() is None
    assert not file.exists()
    close(running)


def test_orphans_whose_leader_is_gone_are_known_by_their_folder(home: Home) -> None:
    running = spawn(python(PARENT, home=home))
    orphan = int(first_line(running))
    record_write(home, running)
    os.kill(running.pid, signal.SIGKILL)
    running.popen.wait(timeout=60)
    assert sighting(orphan) is not None

    records_heal(home, pause=time.sleep)
    wait_until(lambda: sighting(orphan) is None)
    close(running)


def test_who_reads_a_record_while_it_is_written_anew_reads_a_whole_one(home: Home) -> None:
    first, second = (spawn(python(SLEEP, home=home)) for _ in range(2))
    record_write(home, first)
    with (home.run / "some.pid.json").open() as reader:
        record_write(home, second)
        assert json.load(reader)["pid"] == first.pid
    assert json.loads((home.run / "some.pid.json").read_text())["pid"] == second.pid
    assert [one.name for one in home.run.iterdir()] == ["some.pid.json"]
    close(first)
    close(second)


def test_a_record_cut_short_by_a_crash_names_nothing(home: Home) -> None:
    (home.run / "web.pid.json").write_text('{"pid": 1')
    assert records_heal(home, pause=time.sleep) == []
    assert list(home.run.iterdir()) == []
