"""A real web process for tests that need a real port: sockets, browsers, fuzzers."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from django.conf import settings
from django.db import connection

from config.embedded.ports import free_port

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Web:
    port: int
    log: Path
    pid: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def name(self) -> str:
        """What its connections to the database are called."""
        return f"web on {self.port}"

    @property
    def socket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


def database_url() -> str:
    """The worker's own database, for a process that a test starts."""
    return os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{connection.settings_dict['NAME']}"


def _own_port() -> int:
    """None that another worker takes meanwhile: until Django is imported nobody listens there."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return next(port for port in iter(free_port, None) if port % 8 == worker % 8)


@contextmanager
def web(folder: Path, *, port: int = 0, **environment: str) -> Iterator[Web]:
    running = Web(port or _own_port(), folder / "web.log")
    env = os.environ | {"PORT": str(running.port), "DATABASE_URL": database_url(), "VALKEY_URL": settings.VALKEY_URL}
    env["PGAPPNAME"] = running.name
    with running.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.web"], cwd=ROOT, env=env | environment, stdout=log, stderr=log
        )
    try:
        _wait(running, process)
        yield replace(running, pid=process.pid)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(running: Web, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{running.origin}/livez", timeout=2)
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"The web process did not answer:\n{running.said()}")
