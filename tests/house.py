"""Rung's own programs as `make up` runs them, on the test's own database: a worker, its beat, and a web process that
may be away for a while.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings

from config.embedded.house import WORKER
from config.embedded.ports import free_port
from tests import live

BEAT = "--beat --scheduler celery.beat.Scheduler"  # out of the settings: tests empty the tables it has else


class House:
    def __init__(self, folder: Path) -> None:
        self.folder, self._web = folder, ExitStack()
        self.port = free_port()

    @contextmanager
    def open(self) -> Iterator["House"]:
        with _worker(self.folder), self._web:
            self._start_web()
            yield self

    @contextmanager
    def web_away(self) -> Iterator[None]:
        """Ended as an operator ends it, and begun again on the same port."""
        self._web.close()
        yield
        self._start_web()

    def _start_web(self) -> None:
        self.web = self._web.enter_context(live.web(self.folder, port=self.port))


@contextmanager
def _worker(folder: Path) -> Iterator[None]:
    env = os.environ | {"DATABASE_URL": live.database_url(), "VALKEY_URL": settings.VALKEY_URL}
    command = [sys.executable, "-m", "celery", *WORKER.split(), *BEAT.split()]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=live.ROOT, env=env, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)
