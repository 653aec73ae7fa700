"""What would keep `make up` from working, found before anything is installed.

The Makefile runs this file with whatever python3 the machine has, and without packages. So: the standard library only,
nothing that Python 3.6 cannot read, and a problem is a sentence, no problem the empty one.
"""

import errno
import json
import os
import platform
import socket
import sys
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent.parent
OLDEST_PYTHON = (3, 11)
HIGHEST_PORT = 65535


def python_problem(version: "tuple[int, ...]" = sys.version_info[:2]) -> str:
    if version >= OLDEST_PYTHON:
        return ""
    found = ".".join(str(number) for number in version)
    return f"Rung needs Python 3.11 or newer, and this one is {found}: choose another with make up PYTHON=python3.11."


def system_problem() -> str:
    if sys.platform == "win32":
        return "Rung does not run on Windows itself: use WSL2."
    if sys.platform == "linux" and platform.libc_ver()[0] != "glibc" and list(Path("/lib").glob("ld-musl-*")):
        return (
            "Rung's own servers need glibc and this system has musl (Alpine): use Debian, Ubuntu, Fedora or the like."
        )
    return ""


def host(environ: "os._Environ[str] | dict[str, str]") -> str:
    """Where this machine itself reaches what listens on RUNG_BIND."""
    bind = (environ.get("RUNG_BIND") or "").strip()
    return "127.0.0.1" if bind in ("", "0.0.0.0", "localhost", "::") else bind  # noqa: S104 - compared, not bound


def port_number_problem(port: str) -> str:
    if port and all(character in "0123456789" for character in port) and 1 <= int(port) <= HIGHEST_PORT:
        return ""
    return f"PORT must be a number from 1 to {HIGHEST_PORT}, not {port!r}: make up PORT=8000."


def port_problem(port: str) -> str:
    if port_number_problem(port):
        return port_number_problem(port)
    with socket.socket(socket.AF_INET6 if ":" in host(os.environ) else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host(os.environ), int(port)))
        except PermissionError:
            return f"Port {port} is for root alone. Choose a higher one: make up PORT=8000"
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return f"Port {port} cannot be used: {error.strerror}."
            another = int(port) + 1 if int(port) < HIGHEST_PORT else 8000
            return f"Port {port} is taken. Free it, or choose another: make up PORT={another}"
    return ""


def folder_problem(folder: Path) -> str:
    """Tried, not guessed from modes: a read-only disk and a full one look writable."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    trial = existing / f".rung-can-write-{os.getpid()}"
    try:
        trial.write_text("yes")
        trial.unlink()
    except OSError as error:
        return f"{folder} cannot be written: {error.strerror}. Use a folder of your own, or set RUNG_HOME to one."
    return ""


def running_problem(home: Path) -> str:
    """Said here too, or a second start in the same folder would only hear that its port is taken."""
    import fcntl  # noqa: PLC0415  Windows has none, and has been told so by now

    try:
        with (home / "up.lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return already_running(lock.read())
    except OSError:
        return ""  # no lock, or none that can be read: the supervisor will say so
    return ""


def already_running(holder: str) -> str:
    try:
        known = json.loads(holder)
    except ValueError:
        known = {}
    where = [f"pid {known['pid']}"] if known.get("pid") else []
    where += [f"http://127.0.0.1:{known['port']}"] if known.get("port") else []
    return f"Rung is already running from this folder ({', '.join(where) or 'it is just starting'})."


def left_behind(home: Path) -> bool:
    """A killed supervisor's web process may hold the port a moment more: the next one ends it, then looks again."""
    return (home / "run" / "web.pid.json").exists()


def first_problem(environ: "dict[str, str]") -> str:
    home = PROJECT_ROOT / Path(environ.get("RUNG_HOME") or ".rung").expanduser()
    port = environ.get("PORT") or "8000"
    return (
        python_problem()
        or system_problem()
        or folder_problem(PROJECT_ROOT)
        or folder_problem(home)
        or running_problem(home)
        or (port_number_problem(port) if left_behind(home) else port_problem(port))
    )


if __name__ == "__main__":
    problem = first_problem(dict(os.environ))
    if problem:
        sys.exit(problem)
