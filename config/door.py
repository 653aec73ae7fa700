"""The outermost ASGI layer: gives each request its id, bounds bodies, counts and logs the answer."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import structlog
from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

from config import errors, metrics, problem
from config.bodies import Bodies, Body, header
from config.request_context import RequestContext, begin, new_request_id
from config.serving import register

log = structlog.get_logger("rung.request")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_INTERNAL_ERROR = 1011  # the WebSocket close code
_ALIVE = b'{"status":"ok"}'
_QUIET = ("/livez", "/readyz", "/metrics")
ERROR = 400  # the first status that is one
_LEFT = 499  # the status, for our own records, of a request whose caller did not wait
SLOW = 1.0  # seconds


class Door:
    def __init__(
        self, inner: ASGI3Application, *, bodies: Bodies, on_start: Callable[[], object] = lambda: None
    ) -> None:
        self.inner = inner
        self.bodies = bodies
        self.on_start = on_start

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send, self.on_start)
            return
        context = begin(new_request_id(header(scope, b"x-request-id")))
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
        answer = _Answer(send, context.request_id)
        body = Body(self.bodies, receive, scope)
        try:
            if scope["path"] == "/livez" and scope["method"] in ("GET", "HEAD"):
                context.route = "/livez"  # needs no thread, so it answers when all of them are busy
                await answer.say(200, b"application/json", _ALIVE)
                return
            if body.declared:
                await body.begin()
            await self.inner(scope, body, answer)
            # nothing said: the body broke off, by the caller's going away or by chunks that make no sense
            await answer.problem(errors.InvalidRequest("The body ended before it was whole."))
        except errors.CallerLeft:
            answer.status = answer.status or _LEFT
        except errors.DomainError as error:
            await answer.problem(error)
        except Exception as raised:
            known = problem.domain_error(raised)
            if known is None:
                log.exception("request_failed")
                known = errors.InternalError("This is our fault. The request id helps us find it.")
            await answer.problem(known)
        finally:
            body.end()
            if context.proven and (connection := scope.get("state", {}).get("connection")) is not None:
                register.connections.prove(connection)
            record(scope, context, answer.status, time.perf_counter() - begun)


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


async def _live(receive: ASGIReceiveCallable, send: ASGISendCallable, on_start: Callable[[], object]) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            on_start()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


def record(scope: Any, context: RequestContext, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in _METHODS else "other"
    metrics.answered(method, context.route, status, seconds)
    if context.hot and status < ERROR and seconds < SLOW:
        return  # thousands a second: a line for each would cost more than the answer
    say = log.debug if context.route in _QUIET else log.info
    # the query may hold secrets, and raw line breaks would forge lines
    path = quote(scope["path"][:200], errors="replace")
    say("request", method=method, path=path, status=status, ms=round(seconds * 1000, 1))
