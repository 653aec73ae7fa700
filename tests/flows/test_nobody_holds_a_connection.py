"""Callers that send nothing, or something that never ends, are closed; meanwhile others are served."""

import contextlib
import re
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.connections import resident
from tests.factories import make_game, make_key, make_mode
from tests.live import Web, web

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
HEAD = b"POST /v1/games/arena/scores HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
# what is sent at once, and then byte by byte, one a second
KINDS = {
    "silent": (b"", b""),
    "line breaks only": (b"", b"\r\n" * 60),
    "half a header": (b"GET / HTTP/1.1\r\nHost: 127", b""),
    "a dripped header": (b"GET / HTTP/1.1\r\nX-Slow: ", b"a" * 120),
    "no body, by length": (HEAD + b"Content-Length: 1000\r\n\r\n", b""),
    "no body, in chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b""),
    "a dripped body": (HEAD + b"Content-Length: 1000\r\n\r\n", b"a" * 120),
    "dripped chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 20),
    "a dripped chunk's extension": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 120),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b""),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b""),
    "half a second request": (b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /livez HTTP/1.1\r\n", b"X"),
    "half a message": (UPGRADE, b""),  # begun once the socket is open
    "pieces of a message": (UPGRADE, b""),
}
BEGINNINGS = {
    "half a message": b"\x81\xfe\x10\x00\x00\x00\x00\x00" + b"a" * 100,
    "pieces of a message": b"\x01\x81\x00\x00\x00\x00a" + b"\x00\x81\x00\x00\x00\x00a" * 10,
}
MOST_SECONDS = 60.0
MOST_IDLE_SECONDS = 80.0


def _connect(port: int, address: str = "127.0.0.2") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))


def _is_closed(caller: socket.socket) -> bool:
    """By the other side, whatever it said before."""
    try:
        while readable(caller):
            if not caller.recv(65536):
                return True
    except OSError:
        return True
    return False


def readable(caller: socket.socket) -> bool:
    return bool(select.select([caller], [], [], 0)[0])


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[tuple[Web, str]]:
    key = make_key(make_mode(make_game("arena"), min_score=0, max_score=1000).game)
    with web(tmp_path, RUNG_WEB_PROCESSES="1") as running:
        yield running, key


def test_whoever_sends_nothing_or_too_little_is_closed_within_a_minute(arena: tuple[Web, str]) -> None:
    running, _ = arena
    callers = {name: _connect(running.port) for name in KINDS}
    drips = {name: iter(drip) for name, (_, drip) in KINDS.items()}
    for name, (first, _) in KINDS.items():
        callers[name].sendall(first)
    for name, beginning in BEGINNINGS.items():
        assert b" 101 " in callers[name].recv(4096)
        callers[name].sendall(beginning)
    idle = _connect(running.port)
    idle.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b" 200 " in idle.recv(4096)
    began = time.monotonic()
    closed: dict[str, float] = {}
    while len(closed) < len(KINDS) and time.monotonic() - began < MOST_SECONDS:
        for name in KINDS.keys() - closed.keys():
            if _is_closed(callers[name]):
                closed[name] = time.monotonic() - began
            elif (byte := next(drips[name], None)) is not None:
                with contextlib.suppress(OSError):
                    callers[name].sendall(bytes([byte]))
        time.sleep(1)
    for caller in callers.values():
        caller.close()
    assert closed.keys() == KINDS.keys()
    assert not _is_closed(idle), "between two requests there is more time"
    while not _is_closed(idle) and time.monotonic() - began < MOST_IDLE_SECONDS:
        time.sleep(0.5)
    assert MOST_SECONDS < time.monotonic() - began < MOST_IDLE_SECONDS
    idle.close()


def test_a_house_full_of_strangers_has_room_for_probes_and_for_keys(tmp_path: Path) -> None:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    key = {"Authorization": f"Bearer {make_key(mode.game)}"}
    with (
        web(tmp_path, RUNG_WEB_PROCESSES="1", RUNG_WEB_CONNECTIONS="64") as running,
        httpx.Client(base_url=running.origin, timeout=60) as server,
        contextlib.ExitStack() as strangers,
    ):
        assert server.post(f"{SOLO}/scores", headers=key, json={"player_id": "p-1", "score": 1}).status_code == 202
        for number in range(200):
            strangers.enter_context(_connect(running.port, f"127.0.0.{2 + number % 100}"))
        for score in range(2, 12):
            sent = server.post(f"{SOLO}/scores", headers=key, json={"player_id": "p-1", "score": score})
            assert sent.status_code == 202
            assert httpx.get(f"{running.origin}/livez", timeout=60).status_code == 200
            anew = httpx.post(f"{running.origin}{SOLO}/scores", headers=key, json={"player_id": "p-2", "score": score})
            assert anew.status_code == 202


def test_one_address_cannot_have_all_connections(tmp_path: Path) -> None:
    make_game("arena")
    with (
        web(tmp_path, RUNG_WEB_PROCESSES="1", RUNG_CONNECTIONS_PER_ADDRESS="10") as running,
        contextlib.ExitStack() as all_of_them,
    ):
        visitor = all_of_them.enter_context(httpx.Client(base_url=running.origin, timeout=60))
        assert visitor.get("/livez").status_code == 200
        many = [all_of_them.enter_context(_connect(running.port)) for _ in range(50)]
        deadline = time.monotonic() + 60
        while sum(not _is_closed(one) for one in many) > 10 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sum(not _is_closed(one) for one in many) == 10
        assert visitor.get("/livez").status_code == 200


def test_unfinished_messages_of_sockets_take_hardly_any_memory(arena: tuple[Web, str]) -> None:
    """Twelve of fifty megabytes each took 354 MB, for as long as their senders liked."""
    running, _ = arena
    piece = b"a" * 65_536
    with contextlib.ExitStack() as sockets:
        callers = [sockets.enter_context(_connect(running.port)) for _ in range(12)]
        for caller in callers:
            caller.sendall(UPGRADE)
            assert b" 101 " in caller.recv(4096)
        before = resident(running.pid)
        frame = b"\x01\xff" + (50_000_000).to_bytes(8, "big") + bytes(4)
        for caller in callers:
            caller.settimeout(0.5)  # it is no longer read from
            with contextlib.suppress(OSError):
                caller.sendall(frame)
                for _ in range(760):
                    caller.sendall(piece)
        deadline = time.monotonic() + 60
        while not all(map(_is_closed, callers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert all(map(_is_closed, callers))
        assert resident(running.pid) - before < 20_000_000


def _frame(text: bytes) -> bytes:
    return bytes((0x81, 0x80 | len(text))) + bytes(4) + text


_BREACHES = {
    "a message too big": (b"\x01\xff" + (50_000_000).to_bytes(8, "big") + bytes(4) + b"a" * 1000, 1009),
    "a message and then no frame": (_frame(b'{"op":"ping"}') + b"\xff\xff\xff\xff" * 10, 1002),
    "frames that are answered, too many": (_frame(b"{}") * 250, 1008),
    "and more of them after the close": (_frame(b'{"op":"ping"}') * 400, 1008),
}


@pytest.mark.parametrize("breach", _BREACHES)
def test_a_socket_that_broke_a_rule_is_told_at_once_and_closed_later(arena: tuple[Web, str], breach: str) -> None:
    """Closed at once, a thousand of them were back within a second, and their handshakes cost the most."""
    running, _ = arena
    sent, code = _BREACHES[breach]
    with _connect(running.port) as caller:
        caller.sendall(UPGRADE)
        assert b" 101 " in caller.recv(4096)
        caller.sendall(sent)
        told = b""
        while b"\x88" not in told and (piece := caller.recv(65536)):
            told += piece
        assert code.to_bytes(2, "big") in told.rpartition(b"\x88")[2]
        time.sleep(3)
        assert not _is_closed(caller)


def test_a_request_for_a_socket_that_cannot_be_read_is_refused(arena: tuple[Web, str]) -> None:
    """It was neither answered nor ever closed."""
    running, _ = arena
    with _connect(running.port) as caller:
        caller.sendall(UPGRADE[:-2] + b"X-Long: " + b"a" * 9000 + b"\r\n\r\n")
        assert caller.recv(4096).startswith(b"HTTP/1.1 400 ")
        deadline = time.monotonic() + 60
        while not _is_closed(caller) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _is_closed(caller)


def test_a_request_for_a_socket_with_a_body_is_a_request_for_a_page_that_there_is_not(arena: tuple[Web, str]) -> None:
    """It was neither answered nor ever closed."""
    running, _ = arena
    with _connect(running.port) as caller:
        caller.sendall(UPGRADE[:-2] + b"Content-Length: 3\r\n\r\nabc")
        assert caller.recv(4096).startswith(b"HTTP/1.1 404 ")


def test_a_flood_of_empty_frames_is_ended(arena: tuple[Web, str]) -> None:
    running, _ = arena
    for frame in (b"\x89\x80\x00\x00\x00\x00", b"\x8a\x80\x00\x00\x00\x00", b"\x81\x80\x00\x00\x00\x00"):
        with _connect(running.port) as caller:
            caller.sendall(UPGRADE)
            assert b" 101 " in caller.recv(4096)
            caller.settimeout(0.5)  # it is no longer read from
            with contextlib.suppress(OSError):
                for _ in range(20):
                    caller.sendall(frame * 10_000)
            deadline = time.monotonic() + 60
            while not _is_closed(caller) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert _is_closed(caller)


def test_pages_asked_for_by_who_has_left_are_not_made(arena: tuple[Web, str]) -> None:
    """36 KB of requests, fired and forgotten, kept everything behind Django waiting for 14 s."""
    running, _ = arena
    pages = b"".join(b"GET /g/arena/solo/daily?x=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % n for n in range(600))
    for number in range(20):
        with _connect(running.port, f"127.0.0.{2 + number}") as caller:
            caller.sendall(pages)
    for number in range(400):
        with _connect(running.port, f"127.0.0.{2 + number % 100}") as caller:
            caller.sendall(b"GET /g/arena/solo/daily?y=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % number)
    assert httpx.get(f"{running.origin}/readyz", timeout=60).status_code == 200
    assert httpx.get(f"{running.origin}/admin/login/", timeout=60).status_code == 200
    assert httpx.get(f"{running.origin}/", timeout=60).status_code == 200
    counted = httpx.get(f"{running.origin}/metrics", timeout=60).text
    spared = re.findall(r'^rung_requests_(?:abandoned|shed)_total{queue="pages"} (\d+)', counted, re.MULTILINE)
    assert sum(map(int, spared)) > 0


def test_a_large_body_is_refused_before_it_is_sent_and_the_refusal_can_be_read(arena: tuple[Web, str]) -> None:
    running, key = arena
    for authorization, status in (("", b" 413 "), (f"Authorization: Bearer {key[:-4]}aaaa\r\n", b" 401 ")):
        size = 3_000_000 if authorization else 9_000_000
        with _connect(running.port) as caller:
            caller.sendall(HEAD + authorization.encode() + b"Content-Length: %d\r\n\r\n" % size)
            assert status in caller.recv(4096)
            with contextlib.suppress(OSError):
                caller.sendall(b"a" * 100_000)
            deadline = time.monotonic() + 60
            while not _is_closed(caller) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert _is_closed(caller)


def test_unfinished_bodies_of_strangers_keep_no_batch_out(arena: tuple[Web, str]) -> None:
    """66 connections with unfinished bodies of four megabytes locked out everybody's batches."""
    running, key = arena
    items = [{"mode": "solo", "player_id": f"p-{n}", "score": n, "metadata": {"x": "y" * 900}} for n in range(200)]
    with contextlib.ExitStack() as strangers:
        for number in range(66):
            caller = strangers.enter_context(_connect(running.port, f"127.0.0.{2 + number}"))
            with contextlib.suppress(OSError):
                caller.sendall(HEAD + b"Content-Length: 8000000\r\n\r\n" + b"[" + b" " * 4_000_000)
        for _ in range(3):
            sent = httpx.post(
                f"{running.origin}/v1/games/arena/scores",
                headers={"Authorization": f"Bearer {key}"},
                json={"scores": items},
                timeout=60,
            )
            assert (sent.status_code, sent.json()["accepted"] + sent.json()["duplicates"]) == (202, 200)


def test_answers_that_nobody_reads_are_not_kept(arena: tuple[Web, str]) -> None:
    running, _ = arena
    path = b"/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    large = b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.settimeout(60)
        caller.bind(("127.0.0.2", 0))
        caller.connect(("127.0.0.1", running.port))
        caller.sendall(large * 8)
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            said = httpx.get(f"{running.origin}/metrics", timeout=60).text
            if 'rung_connections_closed_total{why="slow_reader"} 1' in said:
                return
            time.sleep(1)
        raise AssertionError("it is still kept")
