"""The outermost layer: what it adds to every answer, what it lets no further, what it says when all else failed."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from config.bodies import Bodies, Room
from config.door import Door
from config.errors import Unauthenticated

MOST = 10
Inner = Callable[[Any, Any, Any], Awaitable[None]]


async def _prove(authorization: str, address: str) -> str | None:
    if authorization == "Bearer wrong":
        raise Unauthenticated
    return {"Bearer key": "arena", "Bearer other key": "quiet"}.get(authorization)


def _door(inner: Inner) -> Door:
    return Door(inner, bodies=Bodies(most=MOST, prove=_prove))


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
    return async_to_sync(_asked)(door or _door(inner), _pieces(*pieces), **scope)


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


SCORES = "/v1/games/arena/scores"
LARGE = b"x" * 30


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Door:
    """A door for which twenty bytes are much, with room for two large bodies of a game, and one of a stranger."""
    monkeypatch.setattr("config.bodies.SMALL", 20)
    bodies = Bodies(most=1000, prove=_prove)
    bodies.games, bodies.strangers = Room(100, 60), Room(60, 30)
    return Door(echo, bodies=bodies)


def _large(door: Door, authorization: bytes = b"", *, declared: bool = True) -> tuple[list[Any], list[str]]:
    """What a large body is answered, and which pieces of it were taken."""
    taken: list[str] = []

    async def pieces() -> AsyncIterator[bytes]:
        for name, piece in (("first", LARGE[:25]), ("rest", LARGE[25:])):
            taken.append(name)
            yield piece

    headers = [(b"content-length", b"30")] if declared else [(b"transfer-encoding", b"chunked")]
    headers += [(b"authorization", authorization)] if authorization else []
    return async_to_sync(_asked)(door, pieces(), path=SCORES, headers=headers), taken


def test_a_large_body_is_not_read_before_its_key_is_found_to_be_good(large: Door) -> None:
    for declared, taken in ((True, []), (False, ["first"])):
        refused, read = _large(large, b"Bearer wrong", declared=declared)
        assert (_told(refused), read) == ((401, "unauthenticated"), taken)
        answered, read = _large(large, b"Bearer key", declared=declared)
        assert (answered[1]["body"], read) == (LARGE, ["first", "rest"])


async def _beside(door: Door, waiting: dict[str, Any], *others: dict[str, Any]) -> list[list[Any]]:
    """What others are answered while a large body is not whole; then what that is answered."""
    came, goes_on = asyncio.Event(), asyncio.Event()

    async def patient() -> AsyncIterator[bytes]:
        for at in range(3):
            yield LARGE[at * 10 : at * 10 + 9]
        yield b"yy"
        came.set()
        await goes_on.wait()
        yield b"z"

    first = asyncio.get_running_loop().create_task(_asked(door, patient(), path=SCORES, **waiting))
    await came.wait()
    answers = [await _asked(door, _pieces(LARGE), path=SCORES, **other) for other in others]
    goes_on.set()
    return [*answers, await first]


def _from(address: str, authorization: bytes = b"") -> dict[str, Any]:
    headers = [(b"transfer-encoding", b"chunked")] + ([(b"authorization", authorization)] if authorization else [])
    return {"client": (address, 1), "headers": headers}


def test_bodies_of_strangers_that_are_not_whole_take_no_room_from_a_key_and_have_a_share_each(large: Door) -> None:
    stranger = _from("203.0.113.9")
    told = async_to_sync(_beside)(
        large, {**stranger, "headers": []}, stranger, _from("203.0.113.10"), _from("203.0.113.9", b"Bearer key")
    )
    assert _told(told[0]) == (503, "unavailable")
    assert _headers(told[0])[b"retry-after"] == b"1"
    assert [answer[0]["status"] for answer in told[1:]] == [200, 200, 200]
    assert large.bodies.strangers.taken == 0, "all of it was given back"


def test_a_game_takes_no_more_than_its_share_of_the_room_for_large_bodies(large: Door) -> None:
    large.bodies.games.each = 35
    key, other = _from("203.0.113.9", b"Bearer key"), _from("203.0.113.9", b"Bearer other key")
    told = async_to_sync(_beside)(large, key, key, other)
    assert _told(told[0]) == (503, "unavailable")
    assert [answer[0]["status"] for answer in told[1:]] == [200, 200]
    assert large.bodies.games.taken == 0


def test_a_body_as_long_as_was_declared_is_whole_without_another_word() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"123"
        yield b"45"
        await asyncio.Event().wait()

    sent = async_to_sync(_asked)(_door(echo), endless(), headers=[(b"content-length", b"5")])
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"12345")


@pytest.mark.parametrize(
    "headers", [[], [(b"content-length", b"0")], [(b"transfer-encoding", b"chunked"), (b"content-length", b"3")]]
)
def test_a_body_in_chunks_ends_with_the_last_of_them(headers: list[tuple[bytes, bytes]]) -> None:
    """Whatever length is declared beside, and however little comes first."""
    sent = _ask(echo, b"", b"123", b"", b"45", headers=headers)
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"12345")


@pytest.mark.parametrize("declared", [b"", b"-1", b"1e9", b"0x10", b"\xb2"])
def test_a_length_that_is_no_length_is_not_believed(declared: bytes) -> None:
    assert _ask(echo, b"hello", headers=[(b"content-length", declared)])[0]["status"] == 200


@pytest.mark.parametrize("digits", [18, 19, 20, 5000])
def test_a_length_of_many_digits_is_too_large(digits: int) -> None:
    assert _told(_ask(echo, headers=[(b"content-length", b"9" * digits)])) == (413, "payload_too_large")


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
