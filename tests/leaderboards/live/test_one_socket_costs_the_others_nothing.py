"""A client that stops reading is dropped, and nobody else waits for it; a process that ends says so."""

import json
import socket as plain
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from leaderboards.models import Mode
from tests import live
from tests.factories import make_player
from tests.leaderboards.live.conftest import Play
from tests.live import Web
from tests.sockets import opened, shown, subscribe

_ENTRIES = 100


@contextmanager
def _deaf(web: Web) -> Iterator[plain.socket]:
    """A client that takes little at once, and nothing unless it is asked to."""
    with plain.socket() as client:
        client.setsockopt(plain.SOL_SOCKET, plain.SO_RCVBUF, 4096)
        client.settimeout(20)
        client.connect(("127.0.0.1", web.port))
        client.sendall(
            b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert client.recv(4096).startswith(b"HTTP/1.1 101")
        yield client


def _frame(message: object) -> bytes:
    """Masked with nothing, which is allowed."""
    body = json.dumps(message).encode()
    return bytes([0x81, 0x80 | 126]) + len(body).to_bytes(2, "big") + bytes(4) + body


def _rest(client: plain.socket) -> bytes:
    received = bytearray()
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.mark.usefixtures("worker")
def test_a_client_that_stops_reading_is_dropped_and_the_others_hear_all(strict: Web, solo: Mode, play: Play) -> None:
    face = "https://cdn.example.com/" + "x" * 170
    for number in range(_ENTRIES):
        make_player(solo.game, f"p-{number}", display_name="ü" * 24, avatar_url=face)
    play(**{f"p-{number}": number for number in range(_ENTRIES)})
    before = _dropped(strict)
    with _deaf(strict) as deaf, opened(strict) as other:
        other.ask(subscribe())
        for number in range(10):
            deaf.sendall(_frame(subscribe(id=str(number), limit=100)))  # some 40 kB each, each time
        for score in range(1000, 1012):
            play(nova=score)
            other.hear_until(lambda told, score=score: shown(told)[0][1:] == ("nova", score))  # type: ignore[misc]
        deadline = time.monotonic() + 60
        while _dropped(strict) == before:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.6)  # it does not read that it is dropped, either: for a look, and less than a last word may take
        received = _rest(deaf)
        assert _dropped(strict) == before + 1, "counted once"
        assert received.endswith(b"\x88\x02\x118"), received[-200:]
        assert other.ask({"op": "ping"}) == {"type": "pong"}


def _dropped(web: Web) -> float:
    for line in httpx.get(f"{web.origin}/metrics", timeout=60).text.splitlines():
        if line.startswith('rung_ws_closed_total{why="slow"}'):
            return float(line.split()[-1])
    return 0


def test_a_process_that_ends_says_so(tmp_path: Path, transactional_db: None) -> None:
    house = ExitStack()
    web = house.enter_context(live.web(tmp_path))
    with house, opened(web) as first, opened(web) as second:
        assert first.ask({"op": "ping"}) == {"type": "pong"}
        assert second.ask({"op": "ping"}) == {"type": "pong"}
        house.close()
        assert first.closed_with() == 1012
        assert second.closed_with() == 1012
    assert "Traceback" not in web.said()
