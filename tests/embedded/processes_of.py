"""Every living process that has to do with a folder, found as an operator would: by looking at all of them."""

import time
from collections.abc import Callable
from pathlib import Path

from config.embedded.processes import PROC, all_processes


def processes_of(folder: Path) -> list[int]:
    return [process.pid for process in all_processes() if _mentions(PROC / str(process.pid), str(folder))]


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.05)


def _mentions(entry: Path, folder: str) -> bool:
    """Backends of PostgreSQL write their title over both, but they work inside the folder."""
    try:
        said = (entry / "environ").read_bytes() + b"\0" + (entry / "cmdline").read_bytes()
        return folder.encode() in said or str((entry / "cwd").readlink()).startswith(folder)
    except OSError:
        return False
