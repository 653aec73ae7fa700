"""HTTP/1 on one connection: uvicorn's protocol, with a clock for each part of a request and a bound for each size.

A hot request is answered here, without ASGI (`config/direct.py`): it is a `_HotCycle` in the place of uvicorn's cycle.
"""

import asyncio
import time
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from config import problem
from config.errors import DomainError, InvalidRequest, MethodNotAllowed
from config.request_context import new_request_id
from config.serving import register
from config.serving.connections import Connection

MOST_HEAD = 64 * 1024  # bytes of a request line and its headers
MOST_HEADERS = 100
MOST_WAITING = 16  # requests that a caller may send before the first is answered
_REFUSED = 400  # the first status of a request that was
_FRAMING = 1024 * 1024  # bytes around the pieces of a body; small pieces have up to seven times their size
_TOO_LARGE = f"The headers of a request may have {MOST_HEAD:,} bytes and be {MOST_HEADERS} at most."


_BODY = {b"content-length", b"transfer-encoding"}
_HOT_PATH = b"/v1/games/"
_HOT_BODY = 16 * 1024  # bytes; a longer one is for the door to bound


class _HotCycle:
    """A request that is answered without ASGI, with as much of uvicorn's cycle as its protocol looks at."""

    __slots__ = (
        "answer", "began", "body", "call", "disconnected", "keep_alive", "message_event", "more_body",
        "response_complete", "response_started", "scope",
    )  # fmt: skip

    def __init__(self, scope: Any, call: Any) -> None:
        self.scope, self.call, self.began = scope, call, time.perf_counter()
        self.body = bytearray()
        self.more_body = self.keep_alive = True
        self.response_started = self.response_complete = self.disconnected = False
        self.message_event = self  # nobody waits for it
        self.answer: asyncio.Future[Any] | None = None

    def set(self) -> None:
        """The connection is lost, or a piece of the body has come."""
        if self.disconnected and self.answer is not None:
            self.answer.cancel()


class Http(HttpToolsProtocol):
    watched: Connection

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.access_log = False
        self._answered: RequestResponseCycle | _HotCycle | None = None  # the request that is being answered
        self._unread = 0  # bytes since the last whole request
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.watched = register.connections.open(transport, self.client, self.loop)
        self.watched.flow = self.flow

    def connection_lost(self, exc: Exception | None) -> None:
        register.connections.closed(self.transport)
        if self._answered is not None and not self._answered.response_complete:  # uvicorn tells the last one only
            self._answered.disconnected = True
            self._answered.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.watched.lingers or self.transport.is_closing():
            return
        self._unread += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
        except httptools.HttpParserInvalidMethodError:
            self._refuse(MethodNotAllowed())
        except httptools.HttpParserError:
            self._refuse(InvalidRequest("This is not HTTP/1.1."))
        else:
            body = self.watched.body
            if self._unread > MOST_HEAD + body + min(7 * body, _FRAMING):
                self._refuse(InvalidRequest(_TOO_LARGE))

    def _should_upgrade(self) -> bool:
        """For a whole handshake: GET with a key and without a body. All else that asks to upgrade is an ordinary
        request, and is answered as one.
        """
        names = {name for name, _ in self.headers}
        is_handshake = self.parser.get_method() == b"GET" and b"sec-websocket-key" in names and not names & _BODY
        return is_handshake and super()._should_upgrade()

    def handle_websocket_upgrade(self) -> None:
        self.watched.kind, self.watched.asks = "socket", True
        register.connections.finished(self.watched)
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # each knows the other: memory until all is looked through

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.watched.body, self._in_head = 0, True
        self._waits_for("head")
        self.scope["state"]["connection"] = self.watched

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what follows a body in chunks is not: proxies of ours have not looked at it
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > MOST_HEADERS or len(self.pipeline) >= MOST_WAITING:
            raise ValueError(_TOO_LARGE)  # the parser stops, and the request is refused
        if self._is_busy() and self.parser.should_upgrade() and self._should_upgrade():
            raise ValueError("A socket cannot be opened while an answer is due: nobody would end that answer.")
        call = self._hot_call()
        if call is not None:
            self.cycle = self._answered = _HotCycle(self.scope, call)  # type: ignore[assignment]
        else:
            super().on_headers_complete()
            raw_path = self.scope.get("raw_path", b"")
            if b"%" in raw_path:  # uvicorn makes one character of all that is no UTF-8: two names would be one
                self.scope["path"] = unquote_to_bytes(raw_path).decode("utf-8", "surrogateescape")
        self._waits_for("body")

    def _hot_call(self) -> Any:
        """What the fast lane may answer: an ordinary, small request on a connection where nothing else waits."""
        parser = self.parser
        if self._is_busy() or register.direct is None or not self.url.startswith(_HOT_PATH) or b"%" in self.url:
            return None
        if self.flow.write_paused or not parser.should_keep_alive() or parser.should_upgrade():
            return None
        if not all(map(_is_small, self.headers)):
            return None
        url = httptools.parse_url(self.url)
        self.scope["method"] = parser.get_method().decode("ascii")
        self.scope["path"] = url.path.decode("ascii")
        self.scope["query_string"] = url.query or b""
        return register.direct.call_of(self.scope)

    def _is_busy(self) -> bool:
        """The request before this one is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def on_body(self, body: bytes) -> None:
        self.watched.body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unread = 0
        self._waits_for("answer")
        if isinstance(self.cycle, _HotCycle) and not self.cycle.response_complete:
            self._answer(self.cycle)

    def _answer(self, cycle: _HotCycle) -> None:
        self.watched.asks = True
        cycle.call.content = bytes(cycle.body)
        answer = register.direct.answer(cycle.call)
        if isinstance(answer, asyncio.Future):
            cycle.answer = answer
            answer.add_done_callback(partial(self._answer_is_there, cycle))
        else:
            self._write(cycle, answer)

    def _answer_is_there(self, cycle: _HotCycle, done: "asyncio.Future[Any]") -> None:
        if not done.cancelled():
            self._write(cycle, register.direct.result(cycle.call, done))

    def _write(self, cycle: _HotCycle, answer: Any) -> None:
        register.direct.record(cycle.scope, cycle.call, answer.status, time.perf_counter() - cycle.began)
        if cycle.disconnected or self.transport.is_closing():
            return
        pieces = [STATUS_LINE[answer.status]]
        for name, value in chain(self.server_state.default_headers, answer.headers):
            pieces += (name, b": ", value, b"\r\n")
        pieces += (b"x-request-id: ", cycle.call.request_id.encode(), b"\r\n")
        pieces.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        pieces.append(answer.body)
        self.transport.write(b"".join(pieces))
        cycle.response_complete = True
        if cycle.call.has_key and answer.status < _REFUSED:
            register.connections.prove(self.watched)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Uvicorn's own would set a timer for each answer; here one clock looks at all connections."""
        self.server_state.total_requests += 1
        register.connections.finished(self.watched)
        self.watched.asks = False
        if self.transport.is_closing():
            return
        if self._answered is not None and self._answered.more_body:
            self._linger()
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self.watched.kind == "answer":
            self._waits_for("idle")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        self.watched.asks = True
        super()._start_asgi_task(cycle, app)

    def _waits_for(self, what: str) -> None:
        self.watched.kind, self.watched.began = what, self.loop.time()

    def _linger(self) -> None:
        """The answer came before the body was whole: a close at once would take the answer from the caller, too."""
        self.watched.lingers, self.watched.began = True, self.loop.time()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()

    def _refuse(self, error: DomainError) -> None:
        """Answers what is no request that anybody could answer, and hears no more from this connection."""
        answered = self._answered
        if answered is not None and answered is self.cycle and answered.more_body and not answered.response_started:
            answered.disconnected = True  # it has begun to wait for its body: this is its answer
            answered.message_event.set()
        elif answered is not None and not answered.response_complete:
            self.transport.close()
            return
        request_id = new_request_id()
        body = problem.body_of(error, request_id=request_id)
        head = (
            f"HTTP/1.1 {error.status} {error.title}\r\ncontent-type: {problem.CONTENT_TYPE}\r\n"
            f"content-length: {len(body)}\r\ncache-control: no-store\r\nx-request-id: {request_id}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._linger()

    def resume_writing(self) -> None:
        self.watched.drained = True
        super().resume_writing()


def _is_small(header: tuple[bytes, bytes]) -> bool:
    """It does not announce a body that is for the door to bound."""
    name, value = header
    if name == b"content-length":
        return len(value) <= len(str(_HOT_BODY)) and int(value) <= _HOT_BODY
    return name != b"transfer-encoding"
