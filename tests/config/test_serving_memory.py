"""A connection that ends leaves nothing behind: what is found by a look through all memory only is there for long."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
import uvloop
from uvicorn import Config
from uvicorn.server import ServerState

from config.serving import register
from config.serving.http import Http
from config.serving.websocket import WebSocket

_UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_TOO_BIG = b"\x01\xff" + (50_000_000).to_bytes(8, "big") + bytes(4) + b"a" * 3000


async def _application(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass


@pytest.mark.parametrize(
    ("sent", "made"),
    [
        (b"", 1),
        (b"GET / HT", 1),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc", 1),
        (_UPGRADE, 2),
        (_UPGRADE + _TOO_BIG, 2),
    ],
    ids=["silent", "half a head", "answered", "half a body", "a socket", "a socket with a message too big"],
)
def test_a_connection_that_ended_is_gone_at_once(sent: bytes, made: int) -> None:
    known = list[weakref.ref[Any]]()

    class Watched(Http):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            Http.__init__(self, *arguments, **named)
            known.append(weakref.ref(self))

    class WatchedSocket(WebSocket):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            WebSocket.__init__(self, *arguments, **named)
            known.append(weakref.ref(self))

    async def come_and_go() -> None:
        config = Config(
            _application, http=Watched, ws=WatchedSocket, lifespan="off", log_config=None, ws_max_size=16384
        )
        config.load()
        state, loop = ServerState(), asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Watched(config=config, server_state=state, app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        await _until(lambda: len(known) == made)
        await asyncio.sleep(0.1)
        writer.close()
        del reader, writer
        for connection in list(register.connections._all.values()):  # noqa: SLF001
            if connection.kind == "shut":
                connection.transport.abort()
        await _until(lambda: not len(register.connections))
        await asyncio.sleep(0.1)
        server.close()

    gc.collect()
    gc.disable()
    try:
        uvloop.run(come_and_go())
        assert [one() for one in known] == [None] * made
    finally:
        gc.enable()


async def _until(seen: Any) -> None:
    async with asyncio.timeout(60):
        while not seen():  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.01)
