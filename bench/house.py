"""What is measured, started on loopback in a folder of its own and ended by its own pids: servers with fsync on, web,
worker and beat as `make up` starts them, and bare responders beside.
"""

import http.client
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import redis

from bench.apart import Apart, apart
from bench.fill import Filled, fill
from config import env
from config.embedded.home import PROJECT_ROOT, Home
from config.embedded.house import House as Programs
from config.embedded.ports import free_port
from config.embedded.programs import Program, Running, spawn
from config.embedded.servers import embedded_servers

ANSWER_SECONDS = 60.0
SLOW_SECONDS = 1  # that a socket may take to read, so that one that does not is not waited for long
MOST_SOCKETS = 100_000  # of one address, as ours all are
CACHE = 3  # the database of Valkey that settings.CACHE_URL is by default
OF_OTHERS = (
    "BROKER_URL",
    "CHANNELS_URL",
    "CACHE_URL",
    "DATABASE_REPLICA_URL",
    "RUNG_ENV",
    "RUNG_BIND",
    "ALLOWED_HOSTS",
)


class House:
    """Filled with so many players. Its programs are started by name: hello, web, worker, beat."""

    def __init__(self, folder: Path, filled: Filled, elsewhere: Apart) -> None:
        self.folder, self.filled, self.apart = folder, filled, elsewhere
        self.web_port, self.hello_port = free_port(), free_port()
        self.top = folder / "top.json"
        self.serials = 1
        programs = Programs(Home(folder), port=self.web_port, environ=os.environ | {"BENCH_TOP": str(self.top)})
        programs.sweep()
        self._programs: dict[str, Callable[[], Program]] = programs.residents() | {"hello": self._hello}
        self._running: dict[str, Running] = {}

    def start(self, *names: str) -> None:
        for name in names:
            with (self.folder / f"{name}.log").open("ab") as log:
                self._running[name] = spawn(self._programs[name](), output=log)
        for name, port in (("hello", self.hello_port), ("web", self.web_port)):
            if name in names:
                self._wait(name, port)

    def stop(self, *names: str) -> None:
        for name in names:
            self._running.pop(name).stop()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def restart_web(self) -> None:
        """With nothing remembered, in the process or in the cache."""
        self.stop("web")
        boards, _, _ = os.environ["VALKEY_URL"].rpartition("/")
        redis.Redis.from_url(f"{boards}/{CACHE}".replace("valkey://", "redis://")).flushdb()
        self.start("web")

    def stop_all(self) -> None:
        self.stop(*reversed(list(self._running)))

    def take_serials(self, count: int) -> int:
        """The first of so many numbers that no score has had yet."""
        first, self.serials = self.serials, self.serials + count
        return first

    def get(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.web_port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path} answered {answer.status}: {body[:300]!r}")
        return body

    def _hello(self) -> Program:
        workers = env.web_processes()
        granian = f"-m granian --interface asgi --workers {workers} --port {self.hello_port} --no-access-log"
        argv = (sys.executable, *granian.split(), "bench.hello:application")
        return Program(
            "hello", argv, PROJECT_ROOT, {"GRANIAN_BACKLOG": "2048"} | os.environ | {"BENCH_TOP": str(self.top)}
        )

    def _wait(self, name: str, port: int) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline and self._running[name].exit_code() is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            with suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/livez")
                connection.getresponse().read()
                return
            connection.close()
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not answer:\n{(self.folder / f'{name}.log').read_text()[-2000:]}")


@contextmanager
def house(players: int, **environment: str) -> Iterator[House]:
    """`environment`: what its programs find there in place of what measures best; empty: nothing."""
    with ExitStack() as running:
        folder = Path(
            running.enter_context(tempfile.TemporaryDirectory(prefix="rung-bench-", ignore_cleanup_errors=True))
        )
        for name in OF_OTHERS:
            os.environ.pop(name, None)
        servers = running.enter_context(embedded_servers(folder, durable=True))
        os.environ |= {"DATABASE_URL": servers.database_url, "VALKEY_URL": servers.valkey_url}
        os.environ |= {"RUNG_HOME": str(folder), "SECRET_KEY": "of a house that stands for minutes, on loopback"}
        os.environ |= {"RUNG_LOG_LEVEL": "WARNING", "RUNG_DEMO": "0", "RUNG_SHARDS": "1"}
        os.environ |= {
            "RUNG_SLOW_SOCKET_SECONDS": str(SLOW_SECONDS),
            "RUNG_SOCKETS_PER_ADDRESS": str(MOST_SOCKETS),
            "RUNG_CONNECTIONS_PER_ADDRESS": str(MOST_SOCKETS),
        }
        os.environ |= environment
        _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))  # of what is started from here on, too
        elsewhere = running.enter_context(apart())
        made = House(folder, elsewhere(fill, players), elsewhere)
        running.callback(made.stop_all)
        yield made
