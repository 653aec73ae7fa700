"""What is attacked: servers, a web process and a worker of its own, on loopback, in a folder that goes with them."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from config.embedded.home import Home
from config.embedded.house import House as Programs
from config.embedded.ports import free_port
from config.embedded.processes import family
from config.embedded.programs import Running, spawn
from config.embedded.servers import embedded_servers

_ANSWER_SECONDS = 60.0
_OF_OTHERS = (
    "BROKER_URL",
    "CHANNELS_URL",
    "CACHE_URL",
    "DATABASE_REPLICA_URL",
    "RUNG_ENV",
    "RUNG_BIND",
    "ALLOWED_HOSTS",
)
_OWN = {
    "SECRET_KEY": "of a house that stands for an hour, on loopback",
    "RUNG_LOG_LEVEL": "WARNING",
    "RUNG_DEMO": "0",
    "RUNG_SHARDS": "1",
    "RUNG_TWO_PERSONS": "hide",
    "RUNG_SOCKETS_PER_ADDRESS": "100000",
    "RUNG_SOCKETS_PER_PLAYER": "100000",
    "RUNG_CONNECTIONS_PER_ADDRESS": "100000",
    "DJANGO_SETTINGS_MODULE": "config.settings",
}


@contextmanager
def servers() -> Iterator[Path]:
    """Their folder; this process's environment names them from then on."""
    with tempfile.TemporaryDirectory(prefix="rung-fuzz-", ignore_cleanup_errors=True) as name:
        for other in _OF_OTHERS:
            os.environ.pop(other, None)
        with embedded_servers(Path(name)) as urls:
            os.environ |= _OWN | {"DATABASE_URL": urls.database_url, "VALKEY_URL": urls.valkey_url, "RUNG_HOME": name}
            yield Path(name)


class Product:
    """A web process and a worker with its beat; each writes a log beside the other."""

    def __init__(self, folder: Path) -> None:
        self.port, self.log = free_port(), folder / "web.log"
        programs = Programs(Home(folder), port=self.port)
        programs.sweep()
        residents = programs.residents()
        self._worker = self._start(residents["worker"](), folder / "worker.log")
        self._web = self._start(residents["web"](), self.log)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        self._processes = set(family(self._web.pid))

    def dead(self) -> str | None:
        """Which of its processes are gone, in a sentence."""
        if self._web.exit_code() is not None:
            return f"the web process has ended with {self._web.exit_code()}"
        alive = set(family(self._web.pid))
        gone, self._processes = self._processes - alive, alive
        return f"processes of web have died: {sorted(gone)}" if gone else None

    def stop(self) -> None:
        self._web.stop()
        self._worker.stop()

    def _start(self, program: object, log: Path) -> Running:
        with log.open("ab") as output:
            return spawn(program, output=output)  # type: ignore[arg-type]

    def _wait(self) -> None:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline and self._web.exit_code() is None:
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5)
            except httpx.HTTPError:
                time.sleep(0.1)
            else:
                return
        sys.exit(f"fuzz: web does not answer:\n{self.log.read_text()[-3000:]}")


@contextmanager
def product(folder: Path) -> Iterator[Product]:
    running = Product(folder)
    try:
        yield running
    finally:
        running.stop()
