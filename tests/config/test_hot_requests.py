"""Hot requests are answered by the protocol itself, in order, once, and not at all where the caller has left."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from config import errors, problem
from config.direct import Direct
from config.serving import http, register
from config.serving.connections import Connections

HEAD = b"GET /v1/games/arena%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
POST = b"POST /v1/games/arena/scores HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"


class Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def _answer(text: bytes) -> Answer:
    return Answer(200, [(b"content-length", str(len(text)).encode())], text)


class Call:
    request_id, route_name, has_key = "an-id", "/v1/hot", False

    def __init__(self, path: str) -> None:
        self.path, self.content = path, b""


class Lane:
    """Answers what ends in /now at once, /later when it is told to, and fails for /wrong."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[Answer]] = []

    def call_of(self, scope: Any) -> Call | None:
        return None if scope["path"].endswith("/cold") else Call(scope["path"])

    def answer(self, call: Call) -> Any:
        if call.path.endswith("/wrong"):
            raise RuntimeError("the password is hunter2")
        if call.path.endswith("/later"):
            self.waiting.append(asyncio.get_running_loop().create_future())
            return self.waiting[-1]
        return _answer(call.path.encode() + call.content)

    def failed(self, call: Call, error: Exception) -> Answer:
        body = problem.body_of(errors.InternalError("Ours."), request_id=call.request_id)
        return Answer(500, [(b"content-length", str(len(body)).encode())], body)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("203.0.113.9", 50_000), "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def _cold(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"cold"})


@pytest.fixture
def lane(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lane]:
    lane = Lane()
    monkeypatch.setattr(register, "direct", Direct(lane))
    monkeypatch.setattr(register, "connections", Connections(most=10, share=None))
    yield lane
    logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)


def _connected() -> tuple[http.Http, Transport]:
    config = Config(_cold, http=http.Http, log_config=None, lifespan="off")
    config.load()
    state = ServerState()
    state.default_headers = [(b"date", b"today")]
    transport = Transport()
    protocol = http.Http(config, state, {})
    protocol.connection_made(transport)
    return protocol, transport


def _bodies(transport: Transport) -> list[bytes]:
    return [piece.partition(b"\r\n\r\n")[2] for piece in b"".join(transport.written).split(b"HTTP/1.1 200 OK")[1:]]


async def _until_told(transport: Transport, count: int) -> None:
    async with asyncio.timeout(10):
        while len(_bodies(transport)) < count:  # noqa: ASYNC110 - nothing else runs
            await asyncio.sleep(0)


def test_a_hot_request_is_answered_in_one_write(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/now")
        assert len(transport.written) == 1
        head, _, body = transport.written[0].partition(b"\r\n\r\n")
        assert body == b"/v1/games/arena/now"
        assert head.split(b"\r\n") == [
            b"HTTP/1.1 200 OK",
            b"date: today",
            b"content-length: 19",
            b"x-request-id: an-id",
        ]
        assert not transport.closed
        protocol.data_received(HEAD % b"/now")
        assert len(transport.written) == 2

    asyncio.run(asked())


def test_answers_come_in_the_order_of_the_requests(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/later" + HEAD % b"/cold" + HEAD % b"/now" + HEAD % b"/later")
        await asyncio.sleep(0)
        assert transport.written == []
        lane.waiting[0].set_result(_answer(b"first"))
        await _until_told(transport, 3)
        assert _bodies(transport)[0] == b"first"
        assert _bodies(transport)[1] == b"cold"

    asyncio.run(asked())


def test_a_body_that_comes_in_pieces_is_whole_when_it_is_read(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(POST % 10 + b"01234")
        assert transport.written == []
        protocol.data_received(b"56789")
        assert _bodies(transport) == [b"/v1/games/arena/scores0123456789"]

    asyncio.run(asked())


def test_large_bodies_and_those_in_chunks_go_through_the_door(lane: Lane) -> None:
    async def asked() -> None:
        for head in (POST % 20_000, POST.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked")):
            protocol, transport = _connected()
            protocol.data_received(head)
            await _until_told(transport, 1)
            assert _bodies(transport) == [b"cold"]

    asyncio.run(asked())


def test_whoever_has_left_is_not_waited_for(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/later")
        transport.closed = True
        protocol.connection_lost(None)
        assert lane.waiting[0].cancelled()
        await asyncio.sleep(0)
        assert transport.written == []

    asyncio.run(asked())


def test_a_server_that_ends_answers_first_and_says_that_it_closes(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/later")
        protocol.shutdown()
        assert not transport.closed
        lane.waiting[0].set_result(_answer(b"last"))
        await _until_told(transport, 1)
        assert b"connection: close" in transport.written[0]
        assert transport.closed

    asyncio.run(asked())


def test_a_defect_of_ours_is_a_problem_without_details(lane: Lane) -> None:
    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/wrong" + HEAD % b"/later")
        assert transport.written[0].startswith(b"HTTP/1.1 500 ")
        assert b"hunter2" not in transport.written[0]
        lane.waiting[0].set_exception(RuntimeError("the password is hunter2"))
        async with asyncio.timeout(10):
            while len(transport.written) < 2:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
        assert transport.written[1].startswith(b"HTTP/1.1 500 ")
        assert b"hunter2" not in transport.written[1]

    asyncio.run(asked())


def test_a_socket_is_not_opened_while_an_answer_is_due(lane: Lane) -> None:
    """The call was made twice, and both answers went into the socket."""
    upgrade = (
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )

    async def asked() -> None:
        protocol, transport = _connected()
        protocol.data_received(HEAD % b"/later" + upgrade)
        assert len(lane.waiting) == 1
        assert transport.closed
        protocol.connection_lost(None)
        assert lane.waiting[0].cancelled()
        assert transport.written == []

    asyncio.run(asked())
