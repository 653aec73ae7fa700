"""Django (WSGI) behind ASGI: each request runs whole in one thread of a fixed pool, with that thread's own connection.

Django's own ASGI handler hops between the loop and a new thread several times a request and was many times slower
(docs/adr/0003); a thread that lives on also keeps its database connection.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, TypeVar
from wsgiref.types import WSGIApplication

import structlog

log = structlog.get_logger(__name__)
T = TypeVar("T")
Headers = list[tuple[str, str]]
_PIECE = 64 * 1024  # bytes of a streamed answer sent at a time


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
        body = await whole_body(receive)
        if body is None:
            return  # the caller hung up before the request was whole
        answer = _Answer()
        stream = await self._run(lambda: answer.take(self.application(environ_of(scope, body), answer.start)))
        await send(answer.begin)
        if stream is not None:
            await self._send_stream(stream, send)
        await send({"type": "http.response.body", "body": b"".join(answer.pieces)})

    async def _send_stream(self, stream: Any, send: Any) -> None:
        """A thread is taken for each piece, not for as long as the caller takes to read them all."""
        pieces = iter(stream)
        try:
            while piece := await self._run(lambda: _next_piece(pieces)):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            await self._run(stream.close)

    async def _in_pool(self, call: Callable[[], T]) -> T:
        context = contextvars.copy_context()  # the request id goes along
        return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, call)


class _Answer:
    """What the WSGI application says."""

    def __init__(self) -> None:
        self.begin: dict[str, Any] = {}
        self.pieces: list[bytes] = []

    def start(self, status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], object]:
        self.begin = {
            "type": "http.response.start",
            "status": int(status[:3]),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        }
        return self.pieces.append

    def take(self, response: Any) -> Any:
        """Keeps an ordinary answer whole and ends Django's request, in its own thread; hands back one to stream."""
        if getattr(response, "streaming", False):
            return response
        try:
            self.pieces.extend(response)
        finally:
            if hasattr(response, "close"):
                response.close()
        return None


def _next_piece(pieces: Iterator[bytes]) -> bytes:
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) >= _PIECE:
            break
    return bytes(gathered)


async def whole_body(receive: Any) -> bytes | None:
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
    if "*" in environ.get(
        "CONTENT_TYPE", ""
    ):  # a parameter in an alphabet of its own: Django fails on those unheard of
        environ["CONTENT_TYPE"] = environ["CONTENT_TYPE"].partition(";")[0]
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
