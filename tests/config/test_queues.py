"""Whose request waits for whose: kinds of requests have threads of their own, and nobody takes all the room to wait."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import pytest

from config import queues as module
from config.bridge import Bridge
from config.errors import CallerLeft, Unavailable
from config.queues import Queue, Queues

_SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/",
    "query_string": b"",
    "headers": [],
    "http_version": "1.1",
}


def test_an_address_has_a_share_of_the_room_and_gives_it_back() -> None:
    queue = Queue("test", threads=1, room=3, share=2)
    with ExitStack() as places:
        places.enter_context(queue.place("203.0.113.1"))
        places.enter_context(queue.place("203.0.113.1"))
        with pytest.raises(Unavailable), queue.place("203.0.113.1"):
            pass
        places.enter_context(queue.place("203.0.113.2"))
        places.enter_context(queue.place("203.0.113.3"))
        with pytest.raises(Unavailable), queue.place("203.0.113.4"):
            pass
    with queue.place("203.0.113.1"), queue.place("203.0.113.1"):
        pass


def test_each_kind_of_request_has_a_queue_of_its_own() -> None:
    made = Queues(6)
    ways = [
        made.of("/readyz"),
        made.of("/admin/"),
        made.of("/g/arena/solo/daily"),
        made.of("/v1/games"),
        made.of("/v1/games", proven=True),
        made.credentials,
    ]
    assert len({id(queue) for queue in ways}) == len(ways)
    assert made.of("/metrics") is ways[0]
    assert made.of("/") is ways[2]


def _held(bridge: Bridge, path: str, *, count: int) -> tuple[threading.Event, list[Awaitable[Any]]]:
    """So many requests that run until the event is set."""
    gate = threading.Event()
    queue = bridge.queues.of(path)
    return gate, [asyncio.ensure_future(queue.run(gate.wait)) for _ in range(count)]


def test_a_key_is_checked_while_requests_of_strangers_wait() -> None:
    async def checked() -> None:
        bridge = Bridge(lambda *_: [], threads=6)
        gate, waiting = _held(bridge, "/v1/games", count=50)
        try:
            async with asyncio.timeout(60):
                assert await bridge.check_credential("203.0.113.1", lambda: "arena") == "arena"
                proven = bridge.queues.of("/v1/games", proven=True)
                assert await proven.run(lambda: "answered") == "answered"
        finally:
            gate.set()
        await asyncio.gather(*waiting)

    asyncio.run(checked())


def test_checks_of_credentials_are_bounded_too() -> None:
    async def checked() -> None:
        bridge = Bridge(lambda *_: [], threads=6)
        gate = threading.Event()
        many = [asyncio.ensure_future(bridge.check_credential("203.0.113.1", gate.wait)) for _ in range(100)]
        try:
            async with asyncio.timeout(60):
                await asyncio.sleep(0)
                refused = [one for one in many if one.done() and isinstance(one.exception(), Unavailable)]
                assert len(refused) == 100 - 32
                assert sum(not one.done() for one in many) == 32
        finally:
            gate.set()
        await asyncio.gather(*many, return_exceptions=True)

    asyncio.run(checked())


def test_a_request_whose_caller_leaves_before_its_turn_is_not_run() -> None:
    ran: list[str] = []

    def application(environ: Any, start: Callable[..., Any]) -> list[bytes]:
        ran.append(environ["PATH_INFO"])
        start("200 OK", [])
        return [b""]

    async def asked() -> None:
        bridge = Bridge(application, threads=6)
        gate, waiting = _held(bridge, "/", count=5)
        left = asyncio.Event()
        whole = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            if (message := next(whole, None)) is not None:
                return message
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            raise AssertionError(message)

        asking = asyncio.ensure_future(bridge(_SCOPE, receive, send))
        await asyncio.sleep(0.05)
        left.set()
        with pytest.raises(CallerLeft):
            await asking
        gate.set()
        await asyncio.gather(*waiting)
        await bridge.queues.of("/").run(lambda: None)

    asyncio.run(asked())
    assert ran == []


@pytest.mark.parametrize("streaming", [False, True])
def test_who_takes_an_answer_slowly_keeps_nobody_from_the_queue(*, streaming: bool) -> None:
    """Eighty slow readers kept everybody else from all pages."""

    class Pieces(list[bytes]):
        def close(self) -> None:
            pass

    def application(environ: Any, start: Callable[..., Any]) -> Any:
        start("200 OK", [])
        answer = Pieces([b"a piece"])
        answer.streaming = streaming  # type: ignore[attr-defined]
        return answer

    async def asked() -> None:
        bridge = Bridge(application, threads=6)
        taken = asyncio.Event()

        def receiving() -> Callable[[], Awaitable[Any]]:
            messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

            async def receive() -> Any:
                if (message := next(messages, None)) is None:
                    await asyncio.Event().wait()
                return message

            return receive

        async def send_slowly(message: Any) -> None:
            await taken.wait()

        answered = list[int]()

        async def send(message: Any) -> None:
            answered.append(message.get("status", 0))

        slow = [asyncio.ensure_future(bridge(_SCOPE, receiving(), send_slowly)) for _ in range(16)]
        await asyncio.sleep(0.5)
        async with asyncio.timeout(60):
            await bridge(_SCOPE, receiving(), send)
        assert answered[0] == 200
        taken.set()
        await asyncio.gather(*slow)

    asyncio.run(asked())


def test_who_waited_too_long_is_refused_when_its_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", -1.0)
    with pytest.raises(Unavailable):
        asyncio.run(Queue("test", threads=1, room=1, share=1).run(lambda: None))
