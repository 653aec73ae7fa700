"""The outermost layer: what it adds to every answer, what it lets no further, what it says when all else failed."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from unittest.mock import AsyncMock

import pytest
from asgiref.sync import async_to_sync

from config.bridge import whole_body
from config.door import Door

MOST = 10
Inner = Callable[[Any, Any, Any], Awaitable[None]]


async def _read(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            return body


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = await _read(receive)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body})


async def silent(scope: Any, receive: Any, send: Any) -> None:
    pass


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise RuntimeError("the password is hunter2")


async def broken_half_way(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError


def _ask(inner: Inner, *pieces: bytes, door: Door | None = None, **scope: Any) -> list[dict[str, Any]]:
    """What is sent to a caller that sends these pieces."""
    return async_to_sync(_asked)(door or Door(inner, max_body=MOST), _pieces(*pieces), **scope)


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _asked(door: Door, body: AsyncIterator[bytes], **scope: Any) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        piece = await anext(body, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: Any) -> None:
        sent.append(message)

    whole: Any = {"type": "http", "method": "GET", "path": "/v1/games", "headers": [], **scope}
    await door(whole, receive, send)
    return sent


def _headers(sent: list[dict[str, Any]]) -> dict[bytes, bytes]:
    return dict(sent[0]["headers"])


def _told(sent: list[dict[str, Any]]) -> tuple[int, str]:
    problem = json.loads(sent[1]["body"])
    assert _headers(sent)[b"content-type"] == b"application/problem+json"
    assert _headers(sent)[b"content-length"] == str(len(sent[1]["body"])).encode()
    assert _headers(sent)[b"x-request-id"].decode() == problem["request_id"]
    assert problem["status"] == sent[0]["status"]
    return sent[0]["status"], problem["code"]


def test_an_answer_passes_with_a_request_id_added() -> None:
    sent = _ask(echo, b"hello")
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"hello")
    assert len(_headers(sent)[b"x-request-id"]) == 32


@pytest.mark.parametrize("offered", [b"a\r\nSet-Cookie: b", b"a\nb", b"\xff", b"a\x00", b" a", b"a" * 65, b"a\n"])
def test_an_id_that_could_break_a_header_or_a_log_line_is_replaced(offered: bytes) -> None:
    assert _headers(_ask(echo, headers=[(b"x-request-id", offered)]))[b"x-request-id"] != offered


def test_a_body_of_the_most_that_is_allowed_passes() -> None:
    assert _ask(echo, b"12345", b"67890")[1]["body"] == b"1234567890"


def test_a_longer_body_is_too_large_be_it_declared_or_not() -> None:
    assert _told(_ask(echo, b"12345", b"678901")) == (413, "payload_too_large")
    assert _told(_ask(echo, headers=[(b"content-length", b"11")])) == (413, "payload_too_large")


def test_bodies_that_are_not_whole_yet_are_bounded_together_and_small_ones_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("config.door._MOST_HELD", 10)
    monkeypatch.setattr("config.door._SMALL", 2)
    door = Door(echo, max_body=MOST)

    async def beside_one_that_waits() -> tuple[list[Any], list[Any], list[Any]]:
        came, goes_on = asyncio.Event(), asyncio.Event()

        async def patient() -> AsyncIterator[bytes]:
            yield b"123456"
            came.set()
            await goes_on.wait()
            yield b"7"

        first = asyncio.get_running_loop().create_task(_asked(door, patient()))
        await came.wait()
        others = [await _asked(door, _pieces(body)) for body in (b"12345", b"12")]
        goes_on.set()
        return await first, others[0], others[1]

    first, large, small = async_to_sync(beside_one_that_waits)()
    assert (first[0]["status"], first[1]["body"]) == (200, b"1234567")
    assert _told(large) == (503, "unavailable")
    assert _headers(large)[b"retry-after"] == b"1"
    assert (small[0]["status"], small[1]["body"]) == (200, b"12")
    assert _ask(echo, b"1234567890", door=door)[0]["status"] == 200, "all of it was given back"


def test_a_body_that_stops_coming_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.door._PATIENCE", 0.01)

    async def stopping() -> AsyncIterator[bytes]:
        yield b"123"
        await asyncio.Event().wait()
        yield b""

    async def read(scope: Any, receive: Any, send: Any) -> None:
        assert await whole_body(receive) is None

    assert _told(async_to_sync(_asked)(Door(read, max_body=MOST), stopping())) == (400, "invalid_request")


def test_a_body_as_long_as_was_declared_is_whole_without_another_word() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"123"
        yield b"45"
        await asyncio.Event().wait()

    sent = async_to_sync(_asked)(Door(echo, max_body=MOST), endless(), headers=[(b"content-length", b"5")])
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"12345")


@pytest.mark.parametrize(
    "headers", [[], [(b"content-length", b"0")], [(b"transfer-encoding", b"chunked"), (b"content-length", b"3")]]
)
def test_a_body_in_chunks_ends_with_the_last_of_them(headers: list[tuple[bytes, bytes]]) -> None:
    """Whatever length is declared beside, and however little comes first."""
    sent = _ask(echo, b"", b"123", b"", b"45", headers=headers)
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"12345")


def test_a_body_that_is_whole_has_not_stopped_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for the caller to go waits for as long as it stays."""
    monkeypatch.setattr("config.door._PATIENCE", 0.01)
    sends = [{"type": "http.request", "body": b"123", "more_body": False}]
    heard: list[Any] = []

    async def receive() -> Any:
        return sends.pop() if sends else await asyncio.Event().wait()

    async def wait(scope: Any, receive: Any, send: Any) -> None:
        assert await whole_body(receive) == b"123"
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                heard.append(await receive())

    scope: Any = {"type": "http", "method": "GET", "path": "/v1/games", "headers": []}
    async_to_sync(Door(wait, max_body=MOST))(scope, receive, AsyncMock())
    assert heard == []


@pytest.mark.parametrize("declared", [b"", b"-1", b"1e9", b"0x10", b"\xb2", b"9" * 5000])
def test_a_length_that_is_no_length_is_not_believed(declared: bytes) -> None:
    assert _ask(echo, b"hello", headers=[(b"content-length", declared)])[0]["status"] == 200


def test_a_failure_of_ours_is_told_without_its_cause() -> None:
    sent = _ask(broken)
    assert _told(sent) == (500, "internal_error")
    assert b"hunter2" not in sent[1]["body"]


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    assert [message["type"] for message in _ask(broken_half_way)] == ["http.response.start"]


def test_a_request_that_nobody_answers_is_answered_as_broken_off() -> None:
    assert _told(_ask(silent)) == (400, "invalid_request")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x85", "\u2028", "\x1b[2J", "\ud800"])
def test_the_log_has_one_line_for_a_request_whatever_its_path(
    line_break: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="rung.request"):
        _ask(echo, path=f"/v1/{line_break}FORGED", method=f"GET{line_break}")
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert line_break not in record.msg["path"] + record.msg["method"]


def test_a_path_without_end_is_cut_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="rung.request"):
        _ask(echo, path="/" + "a" * 100_000)
    assert len(str(caplog.records[0].msg)) < 1000
