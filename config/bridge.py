"""Django (WSGI) behind ASGI: each request runs whole in one thread of a fixed pool, with that thread's own connection.

Django's own ASGI handler hops between the loop and a new thread several times a request and was many times slower
(docs/adr/0003); a thread that lives on also keeps its database connection.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, TypeVar
from wsgiref.types import WSGIApplication

import structlog

log = structlog.get_logger(__name__)
T = TypeVar("T")
Headers = list[tuple[str, str]]


class Bridge:
    def __init__(
        self,
        application: WSGIApplication,
        *,
        threads: int = 1,
        run: Callable[[Callable[[], Any]], Awaitable[Any]] | None = None,
    ) -> None:
        self.application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="django")
        self._run = run or self._in_pool

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await _body(receive)
        if body is None:
            return  # the caller hung up before the request was whole
        answer = _Answer(send, asyncio.get_running_loop())
        await self._run(lambda: answer.drain(self.application(environ_of(scope, body), answer.start)))
        await answer.finish()

    async def _in_pool(self, call: Callable[[], T]) -> T:
        context = contextvars.copy_context()  # the request id goes along
        return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, call)


class _Answer:
    """What the WSGI application says. A streamed answer is sent piece by piece, as fast as the caller reads."""

    def __init__(self, send: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._send = send
        self._loop = loop
        self._begin: dict[str, Any] | None = None
        self._pieces: list[bytes] = []

    def start(self, status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], object]:
        self._begin = {
            "type": "http.response.start",
            "status": int(status[:3]),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        }
        return self._pieces.append

    def drain(self, response: Iterable[bytes]) -> None:
        """In the thread that made the response; closing it ends Django's request there."""
        try:
            if not getattr(response, "streaming", False):
                self._pieces.extend(response)
                return
            for piece in response:
                asyncio.run_coroutine_threadsafe(self._flush(piece), self._loop).result()
        finally:
            close = getattr(response, "close", None)
            if close is not None:
                close()

    async def _flush(self, piece: bytes) -> None:
        await self._send_begin()
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def finish(self) -> None:
        await self._send_begin()
        await self._send({"type": "http.response.body", "body": b"".join(self._pieces)})

    async def _send_begin(self) -> None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            await self._send(begin)


async def _body(receive: Any) -> bytes | None:
    """Whole, in memory: the door has bounded it."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def environ_of(scope: Any, body: bytes) -> dict[str, Any]:
    server = scope.get("server") or ("127.0.0.1", 80)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope.get("root_path", ""),
        "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": _ErrorLog(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    _add_headers(environ, scope["headers"])
    environ["CONTENT_LENGTH"] = str(len(body))  # what came, whatever was declared
    return environ


def _add_headers(environ: dict[str, Any], headers: Iterable[tuple[bytes, bytes]]) -> None:
    for raw_name, raw_value in headers:
        if b"_" in raw_name:
            continue  # X_Forwarded_For would arrive as X-Forwarded-For, past a proxy that sets the real one
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        key = name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        separator = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{value}" if key in environ else value


class _ErrorLog:
    """`wsgi.errors`, which has to be something to write to."""

    def write(self, text: str) -> int:
        if text.strip():
            log.error("wsgi_error", text=text.strip())
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass
