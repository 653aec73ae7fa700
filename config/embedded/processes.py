"""What the system says about a process: alive or not, since when, whose child, of which group."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
ON_LINUX = sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One line of the process table. `started` with `pid` names a process for good: a pid alone is used again."""

    pid: int
    parent: int
    group: int
    started: str


def sighting(pid: int) -> Sighting | None:
    """None for a process that is gone, and for a zombie, which only waits for somebody to notice."""
    return _from_proc(pid) if ON_LINUX else next(iter(_from_ps("-p", str(pid))), None)


def all_processes() -> list[Sighting]:
    if not ON_LINUX:
        return _from_ps("-A")
    seen = (_from_proc(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit())
    return [process for process in seen if process is not None]


def family(pid: int) -> list[int]:
    """A process, its group, and all that descend from it: PostgreSQL's backends lead groups of their own."""
    table = all_processes()
    members = {pid} | {process.pid for process in table if process.group == pid}
    while children := {process.pid for process in table if process.parent in members} - members:
        members |= children
    return sorted(members & {process.pid for process in table})


def kill_family(pid: int) -> None:
    for member in family(pid):
        send(member, signal.SIGKILL)


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it may have gone by itself, which is what was wanted
        os.kill(pid, number)


def environment_has(pid: int, name: str, value: str) -> bool:
    """Only where /proc shows it: elsewhere the answer is no, and nothing is killed on a guess."""
    try:
        return f"{name}={value}".encode() in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _from_proc(pid: int) -> Sighting | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    state, parent, group, ticks = fields[0], int(fields[1]), int(fields[2]), fields[19]
    return None if state in "ZX" else Sighting(pid, parent, group, f"{_boot()}:{ticks}")


def _boot() -> str:
    """Start times count from the boot, so a record must not outlive it."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _from_ps(*selection: str) -> list[Sighting]:
    command = ["/bin/ps", *selection, "-o", "pid=,ppid=,pgid=,stat=,lstart="]
    listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603
    rows = [line.split(None, 4) for line in listed.stdout.splitlines()]
    return [Sighting(int(r[0]), int(r[1]), int(r[2]), r[4].strip()) for r in rows if not r[3].startswith("Z")]
