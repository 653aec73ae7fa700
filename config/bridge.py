"""Django (WSGI) behind ASGI: each request runs whole in one thread of a fixed pool, with that thread's own connection.

Django's own ASGI handler hops between the loop and a new thread several times a request and was many times slower
(docs/adr/0003); a thread that lives on also keeps its database connection. Which thread, and after whom: `queues`.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import Any
from wsgiref.types import WSGIApplication

import structlog
from django.conf import settings
from django.db import close_old_connections
from django.utils import translation

from config import pages, shared_pages, sign_in
from config.address import address_of, network_of
from config.bodies import header
from config.errors import CallerLeft
from config.metrics import ABANDONED, SIGN_INS
from config.queues import Queues
from config.request_context import current
from config.shared_pages import SharedPages

log = structlog.get_logger(__name__)
Run = Callable[[Callable[[], Any]], Awaitable[Any]]
Headers = list[tuple[str, str]]
_BODILESS = (204, 304)
_CHARSET = re.compile(r";\s*charset\s*=\s*(\"[^\"]*\"|[^;]*)", re.IGNORECASE)
_PIECE = 64 * 1024  # bytes of a streamed answer sent at a time


class Bridge:
    """`run`: where requests run, in place of threads of its own."""

    def __init__(self, application: WSGIApplication, *, threads: int = 4, run: Run | None = None) -> None:
        self.application = application
        self.queues = Queues(threads)
        self.shared = SharedPages()
        self._elsewhere = run
        self._again = set[asyncio.Future[Any]]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await whole_body(receive)
        if body is None:
            return  # the caller hung up before the request was whole
        key = shared_pages.key_of(scope)
        if key is not None and (page := self.shared.get(key)) is not None:
            current().route = page.route
            if self.shared.is_due(key):
                self._begin_again(key, scope)
            await _let_it_leave(scope)
            await _send_whole(page.begin, page.body, send)
            return
        if _is_try(scope) and sign_in.must_wait(header(scope, b"cookie") or ""):
            await _tell_to_wait(scope, send)
            return
        queue = self.queues.of(scope["path"], proven=_is_proven(scope))
        run = self._elsewhere or queue.run
        answer, caller = _Answer(), _Caller(receive)
        try:
            with queue.place(network_of(address_of(scope))):  # not while it is sent: its caller may be slow
                stream = await self._made(answer, environ_of(scope, body), caller, run, key)
            await _tell(answer, stream, caller, run, send)
        except CallerLeft:
            ABANDONED.labels(queue.name).inc()
            raise
        finally:
            caller.forget()

    async def check_credential(self, address: str, call: Callable[[], Any]) -> Any:
        """Whose credential it is, in its turn: other requests of strangers must not keep a key waiting."""
        if self._elsewhere is not None:
            return await self._elsewhere(call)
        with self.queues.credentials.place(address):
            return await self.queues.credentials.run(partial(_with_good_connections, call))

    def _begin_again(self, key: shared_pages.Key, scope: Any) -> None:
        """Makes a page that is shared anew, whether or not its caller waits."""
        queue = self.queues.of(scope["path"])
        make = partial(self._make, _Answer(), environ_of(shared_pages.without_others(scope), b""), None, key)
        again = asyncio.ensure_future((self._elsewhere or queue.run)(make))
        self._again.add(again)  # the loop itself holds none
        again.add_done_callback(self._is_made_again)

    def _is_made_again(self, again: asyncio.Future[Any]) -> None:
        self._again.discard(again)
        if not again.cancelled() and (error := again.exception()) is not None:
            log.warning("shared_page_not_made", error=str(error))

    async def _made(
        self, answer: "_Answer", environ: dict[str, Any], caller: "_Caller", run: Run, key: shared_pages.Key | None
    ) -> Any:
        """What of it is to be streamed, if anything."""
        await asyncio.sleep(0)  # who sends and leaves at once is known to be gone by then
        return await caller.wait_for(run(partial(self._make, answer, environ, caller, key)))

    def _make(
        self, answer: "_Answer", environ: dict[str, Any], caller: "_Caller | None", key: shared_pages.Key | None
    ) -> Any:
        """In a thread. What strangers share is kept also where the caller left meanwhile: others ask for it, too."""
        if key is not None and (page := self.shared.made_meanwhile(key)) is not None:
            current().route, answer.begin, answer.body = page.route, page.begin, page.body
            return None
        begun = time.monotonic()
        stream = answer.take(self.application(environ, answer.start), caller)
        if stream is None:
            answer.measure()
            if key is not None and answer.is_shared:
                page = shared_pages.Page(answer.begin, answer.body, current().route)
                self.shared.put(key, page, begun=begun)
        return stream


async def _let_it_leave(scope: Any) -> None:
    """Who sends and leaves at once is known to be gone after a round of the loop: nothing is sent to it."""
    await asyncio.sleep(0)
    connection = scope.get("state", {}).get("connection")
    if connection is not None and connection.transport.is_closing():
        ABANDONED.labels("pages").inc()
        raise CallerLeft


def _is_proven(scope: Any) -> bool:
    """Not behind our own proxies: there, one connection carries the requests of many callers."""
    connection = scope.get("state", {}).get("connection")
    return connection is not None and connection.proven and not settings.PROXIES


async def _tell(answer: "_Answer", stream: Any, caller: "_Caller", run: Run, send: Any) -> None:
    if stream is None:
        await _send_whole(answer.begin, answer.body, send)
        return
    await send(answer.begin)
    await _send_stream(stream, caller, run, send)
    await send({"type": "http.response.body", "body": b""})


async def _send_whole(begin: dict[str, Any], body: bytes, send: Any) -> None:
    await send(begin)
    await send({"type": "http.response.body", "body": body})


async def _send_stream(stream: Any, caller: "_Caller", run: Run, send: Any) -> None:
    """A thread is taken for each piece, not for as long as the caller takes to read them all."""
    pieces = iter(stream)
    try:
        while not caller.left and (piece := await run(partial(_next_piece, pieces))):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        await run(stream.close)


def _is_try(scope: Any) -> bool:
    return (scope["method"], scope["path"]) == ("POST", "/admin/login/")


async def _tell_to_wait(scope: Any, send: Any) -> None:
    """Who tries a password while one of a stranger is checked already: in a word, without Django."""
    current().route = scope["path"]
    SIGN_INS.labels("busy").inc()
    with translation.override(
        shared_pages.language_of((header(scope, b"accept-language") or "").encode("latin-1")[:200])
    ):
        body = pages.passwords_are_checked().encode()
    about = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body)), "retry-after": "3"}
    headers = [(name.encode(), value.encode()) for name, value in (about | {"cache-control": "no-store"}).items()]
    await _send_whole({"type": "http.response.start", "status": 503, "headers": headers}, body, send)


class _Caller:
    """Whether the caller is still there, from the moment its request is whole."""

    def __init__(self, receive: Any) -> None:
        self.left = False
        self._watch: asyncio.Future[None] = asyncio.ensure_future(self._listen(receive))

    async def _listen(self, receive: Any) -> None:
        message = await receive()
        self.left = message["type"] == "http.disconnect"
        if not self.left:
            await asyncio.Event().wait()  # something odd, which says nothing of leaving

    async def wait_for(self, work: Awaitable[Any]) -> Any:
        """What it comes to. Where the caller leaves first, work that has not begun is not done."""
        doing = asyncio.ensure_future(work)
        if not self.left:
            await asyncio.wait((doing, self._watch), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing
        raise CallerLeft

    def forget(self) -> None:
        self._watch.cancel()


class _Answer:
    """What the WSGI application says."""

    def __init__(self) -> None:
        self.begin: dict[str, Any] = {}
        self.pieces: list[bytes] = []
        self.body = b""
        self.is_shared = False

    def start(self, status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], object]:
        told = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self.is_shared = shared_pages.is_shared(int(status[:3]), told)
        told = [header for header in told if header[0] != shared_pages.SHARE]  # that is for us alone
        self.begin = {"type": "http.response.start", "status": int(status[:3]), "headers": told}
        return self.pieces.append

    def measure(self) -> None:
        """Says how long the body is, where Django has not: else it would go in pieces."""
        self.body = b"".join(self.pieces)
        headers = self.begin["headers"]
        if self.begin["status"] not in _BODILESS and not any(name == b"content-length" for name, _ in headers):
            headers.append((b"content-length", str(len(self.body)).encode()))

    def take(self, response: Any, caller: _Caller | None) -> Any:
        """Keeps an ordinary answer whole and ends Django's request, in its own thread; hands back one to stream."""
        is_stream = getattr(response, "streaming", False)
        if is_stream and caller is not None and not caller.left:
            return response
        try:
            if not is_stream:
                self.pieces.extend(response)
        finally:
            if hasattr(response, "close"):
                response.close()
        return None


def _with_good_connections(call: Callable[[], Any]) -> Any:
    close_old_connections()
    return call()


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
        "rung.path_is_text": is_text(scope["path"]),
    }
    _add_headers(environ, scope["headers"])
    if "CONTENT_TYPE" in environ:
        environ["CONTENT_TYPE"] = _plain_type(environ["CONTENT_TYPE"])
    environ["CONTENT_LENGTH"] = str(len(body))  # what came, whatever was declared
    return environ


def _plain_type(declared: str) -> str:
    """Without what Django fails on: a parameter in an alphabet of its own, and a charset that is no charset, such as
    rot13. Addresses and bodies are UTF-8 here, whatever a caller calls them.
    """
    if "*" in declared:
        return declared.partition(";")[0]
    while (plain := _CHARSET.sub("", declared)) != declared:  # what is cut out may leave another one behind
        declared = plain
    return declared


def is_text(path: str) -> bool:
    """Bytes that are no UTF-8 stand in it as halves of pairs."""
    try:
        return path.isascii() or bool(path.encode())
    except UnicodeEncodeError:
        return False


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
