"""`/ws` on a real port: what is wrong is answered, what is too much is closed, and a quiet socket stays open."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.factories import make_game, make_key, make_mode, make_token
from tests.live import Web


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def ask(self, message: object) -> dict[str, Any]:
        self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))
        return self.hear()

    def hear(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.connection.recv(timeout=10))
        return told

    def closed_with(self) -> int | None:
        with pytest.raises(ConnectionClosed):
            self.connection.recv(timeout=10)
        return self.connection.close_code


@contextmanager
def _open(web: Web, *, credential: str = "") -> Iterator[Socket]:
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    with connect(web.socket, additional_headers=headers) as connection:
        yield Socket(connection)


def _subscribe(mode: str = "solo", **more: Any) -> dict[str, Any]:
    return {"op": "subscribe", "id": "a", "game": "arena", "mode": mode, "window": "daily", "scope": "global", **more}


def test_a_subscription_to_what_is_not_there_is_answered_with_its_code(web: Web) -> None:
    make_mode(make_game("arena"))
    with _open(web) as socket:
        told = socket.ask(_subscribe(mode="duo"))
        assert (told["type"], told["id"], told["code"]) == ("error", "a", "mode_not_found")
        assert socket.ask(_subscribe(game="nowhere"))["code"] == "game_not_found"


def test_a_private_game_wants_a_token_which_may_come_in_the_message_or_the_header(web: Web) -> None:
    game, other = make_game("arena", public=False), make_game("other")
    make_mode(game)
    past_the_check = "mode_not_found"  # told only to those who may read
    with _open(web) as socket:
        assert socket.ask(_subscribe())["code"] == "unauthenticated"
        assert socket.ask(_subscribe(mode="duo"))["code"] == "unauthenticated"
        assert socket.ask(_subscribe(mode="duo", token=make_token(game, "p-1")))["code"] == past_the_check
        assert socket.ask(_subscribe(mode="duo", token="nonsense"))["code"] == "unauthenticated"
        assert socket.ask(_subscribe(mode="duo", token=make_token(other, "p-1")))["code"] == "game_not_found"
        assert socket.ask(_subscribe())["code"] == "unauthenticated", "a token holds for its own message only"
    with _open(web, credential=make_key(game)) as socket:
        assert socket.ask(_subscribe(mode="duo"))["code"] == past_the_check


def test_a_header_that_is_not_good_is_answered_and_the_socket_closed(web: Web) -> None:
    make_game("arena")
    with _open(web, credential="rung_00000000_" + "0" * 48) as socket:
        told = socket.hear()
        assert (told["type"], told["code"]) == ("error", "unauthenticated")
        assert socket.closed_with() == 4401


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"op": "dance", "id": "a"}',
        '{"op": "subscribe"}',
        '{"op": "subscribe", "id": 7}',
        '{"op": "subscribe", "id": "a", "limit": 0}',
        '{"op": "subscribe", "id": "a", "extra": 1}',
        '{"op": "subscribe", "id": "a\\u0000"}',
        "[" * 10_000,
        b"\xff\xfe",
    ],
)
def test_garbage_is_answered_and_the_socket_stays(web: Web, garbage: str | bytes) -> None:
    with _open(web) as socket:
        told = socket.ask(garbage)
        assert (told["type"], told["code"]) == ("error", "invalid_request")
        assert socket.ask({"op": "unsubscribe", "id": "b"}) == {"type": "unsubscribed", "id": "b"}


@pytest.mark.parametrize("filler", ["x", "ü"])
def test_a_message_over_16_kib_closes_the_socket(web: Web, filler: str) -> None:
    with _open(web) as socket:
        told = socket.ask(json.dumps({"op": "unsubscribe", "id": "b", "token": "x" * 16_000}))
        assert told["code"] == "invalid_request", "within the limit it is merely wrong"
        socket.connection.send(filler * (16 * 1024 // len(filler.encode()) + 1))
        assert socket.closed_with() == 1009


def test_an_address_that_is_no_socket_is_refused_without_a_word_in_the_log(web: Web) -> None:
    before = len(web.said())
    for address in ("/nowhere", "/"):
        with pytest.raises(InvalidStatus, match="HTTP 403"), connect(web.socket + address):
            pass
    assert "Traceback" not in web.said()[before:]


@pytest.mark.slow
def test_a_socket_that_says_nothing_for_a_while_stays_open(web: Web) -> None:
    """The channel layer's own reads once timed out after five seconds, and took the consumer with them."""
    before = len(web.said())
    with _open(web) as socket:
        assert socket.ask({"op": "unsubscribe", "id": "a"})["type"] == "unsubscribed"
        with pytest.raises(TimeoutError):
            socket.connection.recv(timeout=7)
        assert socket.ask({"op": "unsubscribe", "id": "b"}) == {"type": "unsubscribed", "id": "b"}
    assert "Traceback" not in web.said()[before:]
