"""uvloop with a listener that leaves connections to the other web processes, too.

uvloop takes all connections that wait as soon as it wakes: of 32 opened at once, one process of two had all. Here a
process takes one, leaves the others a millisecond, then takes two, four, and so on while more come.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any

import uvloop

_PAUSE = 0.001  # seconds for the other processes
_NO_FILES = 1.0  # seconds, where the process may open no more files
_MOST = 64  # connections taken at a time
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
Make = Callable[[], asyncio.Protocol]


class Listener:
    """As much of an asyncio server as uvicorn asks for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, make: Make, listening: socket.socket) -> None:
        self._loop, self._make, self._socket = loop, make, listening
        self._begun: set[asyncio.Task[Any]] = set()
        self._at_once = 1
        self._again: asyncio.TimerHandle | None = None
        listening.settimeout(0)
        self._listen()

    def _listen(self) -> None:
        self._loop.add_reader(self._socket, self._take)

    def _take(self) -> None:
        for _ in range(self._at_once):
            try:
                connection, _address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._at_once = 1  # none is left: another process was faster, or the caller has gone
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                self.pause(_NO_FILES)
                return
            self.begin(connection)
        self._at_once = min(_MOST, 2 * self._at_once)
        self.pause(_PAUSE)

    def begin(self, connection: socket.socket) -> None:
        connection.settimeout(0)
        begun = self._loop.create_task(self._loop.connect_accepted_socket(self._make, connection))
        self._begun.add(begun)  # the loop itself holds none
        begun.add_done_callback(self._begun.discard)

    def pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket)
        self._again = self._loop.call_later(seconds, self._listen)

    def close(self) -> None:
        if self._again is not None:
            self._again.cancel()
        self._loop.remove_reader(self._socket)

    async def wait_closed(self) -> None:
        pass


class Loop(uvloop.Loop):
    async def create_server(self, protocol_factory: Any, *_: Any, **named: Any) -> Any:
        if named.get("sock") is None:
            return await super().create_server(protocol_factory, *_, **named)
        named["sock"].listen(named["backlog"])
        return Listener(self, protocol_factory, named["sock"])
