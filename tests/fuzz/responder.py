"""A server that does all that ours may not: it shows that the fuzzer can fail."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fuzz.target import Route, Routes, World

_CALLERS = ("nobody", "player in a browser", "superuser", "manager", "moderator", "viewer", "guest", "garbage")
_FINE = b"HTTP/1.1 200 OK\r\nx-request-id: x\r\ncontent-length: 2\r\n\r\n{}"
_ANSWERS = {
    "/v1/five-hundred": b"HTTP/1.1 500 Oh\r\nx-request-id: x\r\ncontent-length: 0\r\n\r\n",
    "/v1/plain": b"HTTP/1.1 400 No\r\nx-request-id: x\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n",
    "/nameless": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "/admin/closed": b"",
}


def tiny_target() -> tuple[Routes, World]:
    """Addresses of the responder: three that are wrong for each that is fine."""
    by_kind = {
        "api": [Route("api", "/v1/five-hundred"), Route("api", "/v1/plain"), Route("api", "/v1/fine")],
        "page": [Route("page", "/nameless"), Route("page", "/fine")],
        "admin": [Route("admin", "/admin/closed"), Route("admin", "/admin/fine")],
        "static": [Route("static", "/static/fine")],
        "other": [Route("other", "/livez")],
    }
    names = {name: ["x"] for name in ("game", "mode", "window", "scope", "player_id", "token")}
    cookies = dict.fromkeys(_CALLERS, "a=b")
    return Routes(by_kind, {}), World(names, {"key": "Bearer x", "player": "Bearer y"}, cookies, {"a.b": ["1"]})


@contextmanager
def responder() -> Iterator[int]:
    """Its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(_answer, "127.0.0.1", 0), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request on each connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].partition(b"?")[0].decode("latin-1")
        answer = next((answer for begins, answer in _ANSWERS.items() if path.startswith(begins)), _FINE)
        writer.write(answer.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
    finally:
        writer.close()
