"""`/ws` on a real port: what is wrong is answered, what is too much is closed, and a quiet socket stays open."""

import asyncio
import json
from contextlib import ExitStack, suppress
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from config.errors import Unauthenticated
from leaderboards.live import looks
from leaderboards.live.announcements import Top
from leaderboards.live.consumers import LiveConsumer
from leaderboards.live.hub import Hub
from leaderboards.live.looks import Papers
from leaderboards.live.messages import Message
from leaderboards.live.sockets import Socket
from leaderboards.live.threads import Threads
from leaderboards.models import Mode
from tests import live
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.live.conftest import Play
from tests.live import Web
from tests.sockets import opened, shown, subscribe


def test_a_subscription_to_what_is_not_there_is_answered_with_its_code(web: Web) -> None:
    make_mode(make_game("arena"))
    with opened(web) as socket:
        told = socket.ask(subscribe(mode="duo"))
        assert (told["type"], told["id"], told["code"]) == ("error", "a", "mode_not_found")
        assert socket.ask(subscribe(game="nowhere"))["code"] == "game_not_found"


def test_a_private_game_wants_a_token_which_may_come_in_the_message_or_the_header(web: Web) -> None:
    game, other = make_game("arena", public=False), make_game("other")
    make_mode(game)
    past_the_check = "mode_not_found"  # told only to those who may read
    with opened(web) as socket:
        assert socket.ask(subscribe())["code"] == "unauthenticated"
        assert socket.ask(subscribe(mode="duo"))["code"] == "unauthenticated"
        assert socket.ask(subscribe(mode="duo", token=make_token(game, "p-1")))["code"] == past_the_check
        assert socket.ask(subscribe(mode="duo", token="nonsense"))["code"] == "unauthenticated"
        assert socket.ask(subscribe(mode="duo", token=make_token(other, "p-1")))["code"] == "game_not_found"
        assert socket.ask(subscribe())["code"] == "unauthenticated", "a token holds for its own message only"
    with opened(web, credential=make_key(game)) as socket:
        assert socket.ask(subscribe(mode="duo"))["code"] == past_the_check


def test_a_header_that_is_not_good_is_answered_and_the_socket_closed(web: Web) -> None:
    make_game("arena")
    with opened(web, credential="rung_00000000_" + "0" * 48) as socket:
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
    with opened(web) as socket:
        told = socket.ask(garbage)
        assert (told["type"], told["code"]) == ("error", "invalid_request")
        assert socket.ask({"op": "unsubscribe", "id": "b"}) == {"type": "unsubscribed", "id": "b"}


@pytest.mark.parametrize("filler", ["x", "ü"])
def test_a_message_over_16_kib_closes_the_socket(web: Web, filler: str) -> None:
    with opened(web) as socket:
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


def test_a_page_of_ours_may_open_a_socket_and_others_may_not(web: Web) -> None:
    for good in (web.origin, None):
        with opened(web, **({"Origin": good} if good else {})) as socket:
            assert socket.ask({"op": "ping"}) == {"type": "pong"}
    for bad in (
        "https://evil.example",
        f"https://127.0.0.1:{web.port + 1}",
        "null",
        "http://",
        f"ftp://127.0.0.1:{web.port}",
    ):
        with pytest.raises(InvalidStatus, match="HTTP 403"), opened(web, Origin=bad):
            pass


def test_ten_subscriptions_and_no_more(web: Web, solo: Mode) -> None:
    with opened(web) as socket:
        for number in range(10):
            assert socket.ask(subscribe(id=str(number)))["type"] == "snapshot"
        told = socket.ask(subscribe(id="one more"))
        assert (told["type"], told["id"], told["code"]) == ("error", "one more", "too_many_subscriptions")
        assert socket.ask(subscribe(id="9", limit=5))["seq"] == 1, "the same id again takes its place"
        assert socket.ask({"op": "unsubscribe", "id": "3"}) == {"type": "unsubscribed", "id": "3"}
        assert socket.ask(subscribe(id="one more"))["type"] == "snapshot"


def test_a_flood_of_messages_is_closed(web: Web) -> None:
    with opened(web) as socket:
        with suppress(ConnectionClosed):  # it may be so before all are sent
            for _ in range(200):
                socket.say({"op": "ping"})
        assert socket.closed_with() == 4429


def test_sockets_of_an_address_and_of_a_player_are_limited(strict: Web, solo: Mode) -> None:
    token = make_token(solo.game, "p-1")
    with opened(strict) as first, opened(strict) as second, opened(strict):
        assert first.ask(subscribe(token=token))["type"] == "snapshot"
        assert first.ask(subscribe(id="b", token=token))["type"] == "snapshot", "it is one socket"
        assert second.ask(subscribe(token=token))["code"] == "rate_limited"
        assert second.ask(subscribe())["type"] == "snapshot"
        with opened(strict) as one_too_many:
            assert one_too_many.hear()["code"] == "rate_limited"
            assert one_too_many.closed_with() == 4429


def test_a_subscription_that_is_dismissed_while_its_board_is_read_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def told() -> list[Any]:
        hub, sent, ponged, loop = Hub(), list[Any](), asyncio.Event(), asyncio.get_running_loop()
        said = [subscribe(), {"op": "ping"}]

        async def receive() -> Any:
            if said:
                return {"type": "websocket.receive", "text": json.dumps(said.pop(0))}
            await ponged.wait()  # with all that there was to say
            return {"type": "websocket.disconnect"}

        async def send(event: Any) -> None:
            sent.append(json.loads(event["text"]))
            if sent[-1]["type"] == "pong":
                ponged.set()

        socket = Socket(send, address="")

        def top_now(_papers: Papers, message: Message) -> Top:
            loop.call_soon_threadsafe(hub.dismiss, socket.subscriptions[message.id], Unauthenticated())
            return Top(1, 1, 0, "daily:2026-04-05", b"null", 10, [])

        watch = looks.Watch("1|daily|global", "arena", None, None, None, by_session=False)
        monkeypatch.setattr(looks, "watch_of", lambda *_: watch)
        monkeypatch.setattr(looks, "top_now", top_now)
        await LiveConsumer(hub, socket, Papers()).serve(receive)
        return sent

    assert [one["type"] for one in async_to_sync(told)()] == ["error", "pong"]


def test_who_asks_just_as_what_it_asks_begins_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Beginning(dict[object, Any]):
        """In another thread, right after somebody has seen it."""

        def __contains__(self, key: object) -> bool:
            return self.pop(key, None) is not None

    async def asked() -> str:
        threads, under_way = Threads(), asyncio.get_running_loop().create_future()
        under_way.set_result("answered")
        monkeypatch.setattr(threads, "_asked", Beginning(board=under_way))
        return await threads.once("board", lambda: "asked again")

    assert async_to_sync(asked)() == "answered"


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_a_socket_that_says_nothing_for_a_while_stays_open_and_hears(web: Web, play: Play) -> None:
    """The channel layer's own reads once timed out after five seconds, and took the consumer with them."""
    before = len(web.said())
    with opened(web) as socket:
        assert socket.ask(subscribe())["entries"] == []
        assert socket.is_quiet(seconds=7)
        play(nova=7)
        assert shown(socket.hear()) == [(1, "nova", 7)]
    assert "Traceback" not in web.said()[before:]


def test_a_host_that_is_not_ours_is_refused_with_or_without_an_origin(web: Web) -> None:
    for headers in ({}, {"Origin": "http://evil.example"}):
        there = create_connection(("127.0.0.1", web.port))
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://evil.example:{web.port}/ws", sock=there, additional_headers=headers)
        assert refused.value.response.status_code == 400


def test_who_opens_sockets_without_end_is_told_to_wait(transactional_db: None, tmp_path: Path) -> None:
    with live.web(tmp_path) as own:
        told = None
        for _ in range(1000):
            try:
                with opened(own):
                    pass
            except InvalidStatus as error:
                told = error.response
                break
        assert told is not None
        assert told.status_code == 429
        assert int(told.headers["retry-after"]) >= 1


def test_one_address_opens_no_more_than_fifty_sockets_unless_told_otherwise(
    transactional_db: None, tmp_path: Path
) -> None:
    with live.web(tmp_path, RUNG_WEB_PROCESSES="1", RUNG_SOCKETS_PER_ADDRESS="") as own, ExitStack() as all_of_them:
        for _ in range(50):
            all_of_them.enter_context(opened(own))
        with opened(own) as one_too_many:
            first = json.loads(one_too_many.connection.recv(timeout=10))  # sooner than a heartbeat
            assert first["code"] == "rate_limited"
            assert one_too_many.closed_with() == 4429
