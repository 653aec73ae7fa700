"""The outermost ASGI layer: gives each request its id, bounds bodies, counts and logs the answer."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import structlog
from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

from config import errors, metrics, problem
from config.request_context import RequestContext, begin, new_request_id

log = structlog.get_logger("rung.request")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_INTERNAL_ERROR = 1011  # the WebSocket close code
_ALIVE = b'{"status":"ok"}'
_QUIET = ("/livez", "/readyz", "/metrics")
_ERROR = 400  # the first status that is one
_SLOW = 1.0  # seconds
_MOST_HELD = 256 * 1024 * 1024  # bytes of bodies in this process, of requests that are not answered yet, whole or not
_SMALL = 16 * 1024  # bytes of one that passes all the same: few large ones must not keep out a score
_PATIENCE = 30.0  # seconds for the next piece of a body that has begun


class Door:
    def __init__(
        self, inner: ASGI3Application, *, max_body: int, on_start: Callable[[], object] = lambda: None
    ) -> None:
        self.inner = inner
        self.max_body = max_body
        self.on_start = on_start
        self.held = 0  # bytes of bodies

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send, self.on_start)
            return
        context = begin(new_request_id(_header(scope, b"x-request-id")))
        if scope["type"] == "websocket":
            metrics.SOCKETS.inc()
            await self._hold(scope, receive, send)
            return
        await self._serve(scope, receive, send, context)

    async def _hold(self, scope: Any, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        try:
            await self.inner(scope, receive, send)
        except Exception:
            log.exception("socket_failed")
            with suppress(Exception):  # it may be closed already
                await send({"type": "websocket.close", "code": _INTERNAL_ERROR, "reason": ""})

    async def _serve(
        self, scope: Any, receive: ASGIReceiveCallable, send: ASGISendCallable, context: RequestContext
    ) -> None:
        begun = time.perf_counter()
        answer, body = _Answer(send, context.request_id), _Body(self, receive, _declared_length(scope))
        try:
            if scope["path"] == "/livez" and scope["method"] in ("GET", "HEAD"):
                context.route = "/livez"  # needs no thread, so it answers when all of them are busy
                await answer.say(200, b"application/json", _ALIVE)
                return
            body.check(body.declared)
            await self.inner(scope, body, answer)
            # nothing said: the body broke off, by the caller's going away or by chunks that make no sense
            await answer.problem(errors.InvalidRequest("The body ended before it was whole."))
        except errors.DomainError as error:
            await answer.problem(error)
        except Exception:
            log.exception("request_failed")
            await answer.problem(errors.InternalError("This is our fault. The request id helps us find it."))
        finally:
            self.held -= body.came
            _record(scope, context, answer.status, time.perf_counter() - begun)


class _Answer:
    """`send`, with the request id on every response and the status remembered."""

    def __init__(self, send: ASGISendCallable, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", self._request_id)]}
        await self._send(message)

    async def problem(self, error: errors.DomainError) -> None:
        if self.status:
            return  # the answer has begun; all that can be done is to stop
        headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers_of(error).items()]
        await self.say(error.status, problem.CONTENT_TYPE.encode(), problem.body_of(error), *headers)

    async def say(self, status: int, content_type: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        about = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *headers]
        await self({"type": "http.response.start", "status": status, "headers": about})
        await self({"type": "http.response.body", "body": body})


class _Body:
    """`receive`, refusing a body that turns out longer than allowed (a chunked one declares nothing) and one that there
    is no room for. One that stops coming has ended.
    """

    def __init__(self, door: Door, receive: ASGIReceiveCallable, declared: int) -> None:
        self._door = door
        self._receive = receive
        self.declared, self.came = declared, 0  # bytes
        self._begun = False  # and not ended: after its end nothing comes until the caller goes, however long that takes

    async def __call__(self) -> Any:
        message: Any = await (self._more() if self._begun else self._receive())
        if message["type"] == "http.request":
            size = len(message.get("body", b""))
            self.came += size
            self._door.held += size
            if self.came == self.declared > 0:  # the server tells of the end by one message more
                message = {**message, "more_body": False}
            self._begun = self.came > 0 and message.get("more_body", False)
            self.check(self.came)
        return message

    def check(self, size: int) -> None:
        if size > self._door.max_body:
            raise errors.PayloadTooLarge(f"A body may have {self._door.max_body:,} bytes at most.")
        if size > _SMALL and self._door.held > _MOST_HELD:
            raise errors.Unavailable("Too many large bodies are on their way already.", retry_after=1)

    async def _more(self) -> Any:
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._receive()
        except TimeoutError:
            return {"type": "http.disconnect"}


async def _live(receive: ASGIReceiveCallable, send: ASGISendCallable, on_start: Callable[[], object]) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            on_start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


def _header(scope: Any, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


def _declared_length(scope: Any) -> int:
    """0 where it is not said, or where chunks say it better."""
    declared = "0" if _header(scope, b"transfer-encoding") else _header(scope, b"content-length") or "0"
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 19 else 0  # noqa: PLR2004


def _record(scope: Any, context: RequestContext, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "other"
    metrics.answered(method, context.route, status, seconds)
    if context.hot and status < _ERROR and seconds < _SLOW:
        return  # thousands a second: a line for each would cost more than the answer
    say = log.debug if context.route in _QUIET else log.info
    # the query may hold secrets, and raw line breaks would forge lines
    path = quote(scope["path"][:200], errors="replace")
    say("request", method=method, path=path, status=status, ms=round(seconds * 1000, 1))
