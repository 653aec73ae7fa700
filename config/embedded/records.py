"""A note on every program we started, so that the next start can end what a killed supervisor left behind."""

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from config.embedded.home import Home
from config.embedded.processes import all_processes, environment_has, kill_family, send, sighting
from config.embedded.programs import GLANCE_SECONDS, Pause, Running

SUFFIX = ".pid.json"


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    pid: int
    started: str
    stop_signal: int
    patience: float


def record_write(home: Home, running: Running) -> None:
    seen = sighting(running.pid)
    if seen is None:
        return
    program = running.program
    content = {"pid": seen.pid, "started": seen.started, "stop_signal": int(program.stop_signal)}
    file = _file(home, program.name)
    unfinished = file.with_name(f"{file.name}.unfinished")
    unfinished.write_text(json.dumps(content | {"patience": program.patience}))
    unfinished.replace(file)  # whoever reads meanwhile reads a whole one


def record_forget(home: Home, name: str) -> None:
    _file(home, name).unlink(missing_ok=True)


def records_heal(home: Home, *, pause: Pause) -> list[str]:
    """Ends every recorded program that still lives, kindly first, and says which. A recycled pid is left alone."""
    living = [record for record in _records(home) if _is_the_same(record)]
    for record in living:
        send(record.pid, record.stop_signal)
    for record in living:
        deadline = time.monotonic() + record.patience
        while _is_the_same(record) and time.monotonic() < deadline:
            pause(GLANCE_SECONDS)
        if _is_the_same(record):
            kill_family(record.pid)
    for record in _records(home):
        _end_orphans(home, record)
        record_forget(home, record.name)
    return [record.name for record in living]


def _is_the_same(record: Record) -> bool:
    seen = sighting(record.pid)
    return seen is not None and seen.started == record.started


def _end_orphans(home: Home, record: Record) -> None:
    """Members of a group whose leader is gone: known as ours by the folder in their environment."""
    for process in all_processes():
        if process.group == record.pid and environment_has(process.pid, "RUNG_HOME", str(home.path)):
            send(process.pid, signal.SIGKILL)


def _records(home: Home) -> Iterator[Record]:
    for file in sorted(home.run.glob(f"*{SUFFIX}")):
        try:
            known = json.loads(file.read_text())
            name = file.name.removesuffix(SUFFIX)
            yield Record(name, known["pid"], known["started"], known["stop_signal"], known["patience"])
        except (ValueError, KeyError):
            file.unlink(missing_ok=True)  # cut short by a crash: it names nothing


def _file(home: Home, name: str) -> Path:
    return home.run / f"{name}{SUFFIX}"
