"""A WebSocket on one connection: uvicorn's protocol over `websockets`, which bounds a message while it arrives."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request, Response
from websockets.protocol import State

from config import problem
from config.errors import InvalidRequest
from config.metrics import SOCKETS_CLOSED
from config.request_context import current_id, new_request_id
from config.serving import register
from config.serving.connections import SHUT_SECONDS, Connection

MOST_PIECES = 64  # of one message
FRAMES_A_SECOND = 40
FRAMES_AT_ONCE = 200
_SLICE = 1024  # bytes read at a time: the frames in them are looked at before more are

_silent = logging.getLogger("rung.websocket")  # what a stranger sends is no reason for a line
_silent.setLevel(logging.CRITICAL)


class WebSocket(WebSocketsSansIOProtocol):
    watched: Connection

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.logger = _silent
        self.conn.send_response = partial(self._answer, self.conn.send_response)  # type: ignore[method-assign]
        self._frames_left, self._filled_at = float(FRAMES_AT_ONCE), monotonic()

    def _answer(self, send: Callable[[Response], None], response: Response) -> None:
        """To a handshake, by whichever layer: with a request id, as every answer has one."""
        request: Request | None = getattr(self, "request", None)
        offered = request.headers.get_all("X-Request-Id") if request is not None else []
        response.headers.setdefault("X-Request-Id", current_id() or new_request_id(next(iter(offered), None)))
        send(response)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.watched = register.connections.of(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        register.connections.closed(self.transport)
        self.conn.__dict__.pop("send_response", None)  # it knows us, as we know it
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for at in range(0, len(data), _SLICE):
            if self.transport.is_closing() or self.watched.kind == "shut":
                return
            super().data_received(data[at : at + _SLICE])
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self._refuse()
            return
        unfinished = bool(self.frames) or bool(self.conn.reader.buffer)
        if not unfinished:
            self.watched.message_since = None
        elif self.watched.message_since is None:
            self.watched.message_since = self.loop.time()

    def handle_cont(self, event: Frame) -> None:
        if self._may_send_another() and len(self.frames) < MOST_PIECES:
            super().handle_cont(event)
        else:
            self._end_flood()

    def handle_text(self, event: Frame) -> None:
        if self._may_send_another():
            super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        if self._may_send_another():
            super().handle_bytes(event)

    def handle_ping(self) -> None:
        if self._may_send_another():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._may_send_another():
            super().handle_pong(event)

    def handle_parser_exception(self) -> None:
        too_big = self.conn.close_sent is not None and self.conn.close_sent.code == CloseCode.MESSAGE_TOO_BIG
        self._shut("too_big" if too_big else "malformed")

    def resume_writing(self) -> None:
        self.watched.drained = True
        super().resume_writing()

    def _may_send_another(self) -> bool:
        """A bucket of frames that fills by itself; messages have a narrower one of their own."""
        now = monotonic()
        self._frames_left = min(FRAMES_AT_ONCE, self._frames_left + (now - self._filled_at) * FRAMES_A_SECOND) - 1
        self._filled_at = now
        if self._frames_left < 0:
            self._end_flood()
            return False
        return True

    def _refuse(self) -> None:
        """What is no handshake: `websockets` only ends it, and uvicorn does not hear of that."""
        request_id = new_request_id()
        error = InvalidRequest("This is no handshake of a WebSocket.")
        body = problem.body_of(error, request_id=request_id)
        head = (
            f"HTTP/1.1 {error.status} {error.title}\r\ncontent-type: {problem.CONTENT_TYPE}\r\n"
            f"content-length: {len(body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.handshake_complete = self.close_sent = True
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _end_flood(self) -> None:
        if not self.transport.is_closing() and self.watched.kind != "shut":
            if self.conn.state is State.OPEN:  # else we have said why already
                self.conn.send_close(CloseCode.POLICY_VIOLATION)
            self._shut("flood")

    def _shut(self, why: str) -> None:
        """Who breaks a rule is told at once, and no longer listened to. The connection stays, and counts, until the
        clock closes it: a thousand that were closed at once would all be back within a second, with handshakes.
        """
        if self.watched.kind == "shut":
            return
        SOCKETS_CLOSED.labels(why).inc()
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent, self.read_paused = True, False
        self.transport.pause_reading()
        while not self.queue.empty():  # what else has come is not heard any more
            self.queue.get_nowait()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": CloseCode.ABNORMAL_CLOSURE})
        if self.close_timer is None:  # with one, uvicorn leaves the connection alone when the application has ended
            self.close_timer = self.loop.call_later(SHUT_SECONDS, self.transport.close)
        self.watched.kind, self.watched.began, self.watched.asks = "shut", self.loop.time(), False
