"""The embedded servers together: started side by side, answering, remembered, stopped."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.postgres import Postgres
from config.embedded.programs import GLANCE_SECONDS, Pause, Program, Running, spawn
from config.embedded.records import record_forget, record_write, records_heal
from config.embedded.valkey import Valkey

ANSWER_WITHIN_SECONDS = 60.0
PORTS_TRIED = 3


class Server(Protocol):
    name: str
    url_name: str
    port: int

    @property
    def url(self) -> str: ...
    def prepare(self, *, pause: Pause) -> None: ...
    def program(self) -> Program: ...
    def answers(self, pid: int) -> bool: ...
    def move_to_another_port(self) -> None: ...


class Started(Protocol):
    """A started server, whoever watches over it."""

    @property
    def pid(self) -> int: ...
    def exit_code(self) -> int | None: ...


Start = Callable[[Server], Started]


@dataclass(frozen=True, slots=True)
class ServerUrls:
    database_url: str
    valkey_url: str


def servers_start(home: Home, servers: Sequence[Server], *, start: Start, pause: Pause) -> None:
    """All are started before the first is waited for, so the slowest alone decides how long it takes."""
    started = []
    for server in servers:
        server.prepare(pause=pause)
        started.append((server, start(server)))
    for server, running in started:
        _wait_for_answer(server, running, start=start, pause=pause)
        home.remember_servers({server.url_name: server.url, f"{server.name}_port": server.port})


@contextmanager
def embedded_servers(folder: Path, *, durable: bool = False) -> Iterator[ServerUrls]:
    """Servers of one's own in a folder, for as long as the block lasts. For tests: by default nothing is synced."""
    home = Home(folder.absolute())
    with home.lock():
        records_heal(home, pause=time.sleep)
        home.make_secrets()
        valkey, postgres = Valkey(home, durable=durable), Postgres(home, durable=durable)
        running: list[Running] = []
        try:
            servers_start(home, [valkey, postgres], start=lambda s: _log_to_file(home, s, running), pause=time.sleep)
            yield ServerUrls(database_url=postgres.url, valkey_url=valkey.url)
        finally:
            for program in running:
                program.stop()
                record_forget(home, program.program.name)


def _log_to_file(home: Home, server: Server, running: list[Running]) -> Running:
    with (home.path / f"{server.name}.log").open("ab") as log:
        started = spawn(server.program(), output=log)
    running.append(started)
    record_write(home, started)
    return started


def _wait_for_answer(server: Server, running: Started, *, start: Start, pause: Pause) -> None:
    """A port that was free may be taken a moment later: then another one."""
    ports_left = PORTS_TRIED - 1
    deadline = time.monotonic() + ANSWER_WITHIN_SECONDS
    while not server.answers(running.pid):
        if time.monotonic() > deadline:
            raise CannotStart(f"{server.name} did not answer within {ANSWER_WITHIN_SECONDS:.0f} seconds.")
        if running.exit_code() is not None:
            if ports_left == 0:
                raise CannotStart(f"{server.name} ends as soon as it is started; its log says why.")
            ports_left -= 1
            server.move_to_another_port()
            running = start(server)
        pause(GLANCE_SECONDS)
