"""A web process takes what it must and leaves the others their part."""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from config.serving.loop import Listener, Loop


class Protocol(asyncio.Protocol):
    def __init__(self, met: list[asyncio.Protocol]) -> None:
        self.met = met

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.met.append(self)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=200) as made:
        yield made


def _run(act: Callable[[], Any]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(act())


async def _until(met: list[asyncio.Protocol], count: int) -> None:
    async with asyncio.timeout(60):
        while len(met) < count:  # noqa: ASYNC110 - protocols tell nobody
            await asyncio.sleep(0.01)


def test_one_connection_is_taken_then_two_then_four_and_none_is_forgotten(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, pauses = [0], list[int]()
    begin, pause = Listener.begin, Listener.pause

    def counted(self: Listener, connection: socket.socket) -> None:
        taken[0] += 1
        begin(self, connection)

    def noted(self: Listener, seconds: float) -> None:
        pauses.append(taken[0])
        pause(self, seconds)

    monkeypatch.setattr(Listener, "begin", counted)
    monkeypatch.setattr(Listener, "pause", noted)

    async def take() -> None:
        met: list[asyncio.Protocol] = []
        with ExitStack() as callers:
            for _ in range(100):
                callers.enter_context(socket.create_connection(listening.getsockname(), timeout=60))
            loop = asyncio.get_running_loop()
            listener: Any = await loop.create_server(lambda: Protocol(met), sock=listening, backlog=200)
            await _until(met, 100)
            assert pauses[:6] == [1, 3, 7, 15, 31, 63]
            callers.enter_context(socket.create_connection(listening.getsockname(), timeout=60))
            await _until(met, 101)
            listener.close()

    _run(take)


def test_a_process_that_may_open_no_more_files_tries_again(listening: socket.socket) -> None:
    class Full:
        """A listening socket that fails twice."""

        failures = 2

        def __getattr__(self, name: str) -> Any:
            return getattr(listening, name)

        def fileno(self) -> int:
            return listening.fileno()

        def accept(self) -> Any:
            if self.failures:
                self.failures -= 1
                raise OSError(errno.EMFILE, "Too many open files")
            return listening.accept()

    async def taken() -> None:
        met: list[asyncio.Protocol] = []
        with socket.create_connection(listening.getsockname(), timeout=60):
            full: Any = Full()
            listener = Listener(asyncio.get_running_loop(), lambda: Protocol(met), full)
            await _until(met, 1)
            assert full.failures == 0
            listener.close()

    _run(taken)
