"""What strangers do to a server in `bench.siege`: each kind in a process of its own, for so many seconds."""

import asyncio
import contextlib
import random
import resource
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import uvloop

HOST = b"Host: 127.0.0.1\r\n"
UPGRADE = (
    b"GET /ws HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
UNFINISHED_MESSAGE = b"\x01\xff" + (50_000_000).to_bytes(8, "big") + bytes(4)
UNFINISHED_BODY = (
    b"POST /v1/games/bench/scores HTTP/1.1\r\n"
    + HOST
    + b"Content-Type: application/json\r\nContent-Length: 8000000\r\n\r\n"
)
_SECRET = b"a" * 32
_FORM = b"username=operator&password=guess-%d&csrfmiddlewaretoken=" + _SECRET
_OPENED_AT_ONCE = 100
_PAUSE = 1.0  # seconds before a connection that was closed is tried again


@dataclass(frozen=True, slots=True)
class Siege:
    port: int
    seconds: float
    addresses: int  # 127.0.0.2 and so on; 1: all from one

    def address(self) -> str:
        return f"127.0.0.{random.randint(2, 1 + self.addresses)}"


@dataclass(frozen=True, slots=True)
class Done:
    kind: str
    opened: int
    refused: int


Act = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _forever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the other side has enough."""
    while await reader.read(65536):
        pass


async def _message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(UNFINISHED_MESSAGE)
    for _ in range(16):
        writer.write(b"a" * 65536)
        await writer.drain()
    await _forever(reader, writer)


async def _body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(UNFINISHED_BODY + b"[" + b" " * 65536)
    await _forever(reader, writer)


async def _page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET /g/bench/main/daily?x=%d HTTP/1.1\r\n" % random.getrandbits(60) + HOST + b"\r\n")
    await writer.drain()


async def _login(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    form = _FORM % random.getrandbits(30)
    head = b"POST /admin/login/ HTTP/1.1\r\n" + HOST + b"Cookie: csrftoken=" + _SECRET
    kind = b"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n" % len(form)
    writer.write(head + kind + form)
    await reader.readuntil(b"\r\n\r\n")


HELD = {"silent": (_forever, 16_384), "messages": (_message, 1_000), "bodies": (_body, 1_000)}
SENT = {"pages": (_page, 600), "logins": (_login, 50)}  # a second
KINDS = (*HELD, *SENT)


def act(kind: str, siege: Siege) -> Done:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return uvloop.run(_Strangers(siege).act(kind))


class _Strangers:
    def __init__(self, siege: Siege) -> None:
        self.siege = siege
        self.until = time.monotonic() + siege.seconds
        self.opened = self.refused = 0
        self.room = asyncio.Semaphore(_OPENED_AT_ONCE)

    async def act(self, kind: str) -> Done:
        tasks = set[asyncio.Task[None]]()
        if kind in HELD:
            deed, count = HELD[kind]
            tasks |= {asyncio.ensure_future(self._hold(deed)) for _ in range(count)}
            await asyncio.sleep(self.siege.seconds)
        else:
            deed, rate = SENT[kind]
            began = time.monotonic()
            while (now := time.monotonic()) < self.until:
                due = int((now - began) * rate) - self.opened - self.refused - len(tasks)
                tasks |= {asyncio.ensure_future(self._once(deed)) for _ in range(min(due, rate))}
                await asyncio.sleep(0.02)
                tasks = {task for task in tasks if not task.done()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return Done(kind, self.opened, self.refused)

    async def _hold(self, deed: Act) -> None:
        await asyncio.sleep(random.random() * 5)
        while time.monotonic() < self.until:
            await self._once(deed)
            await asyncio.sleep(_PAUSE)

    async def _once(self, deed: Act) -> None:
        writer = None
        try:
            async with self.room, asyncio.timeout(10):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self.siege.port, local_addr=(self.siege.address(), 0)
                )
            self.opened += 1
            await deed(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            self.refused += writer is None
        finally:
            if writer is not None:
                with contextlib.suppress(OSError):
                    writer.transport.abort() if deed is not _page else writer.close()


def can_bind() -> bool:
    """Whether this machine has the addresses; macOS has 127.0.0.1 only."""
    with socket.socket() as own:
        try:
            own.bind(("127.0.0.2", 0))
        except OSError:
            return False
    return True
