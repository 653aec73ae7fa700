"""Whatever bytes arrive on the port are answered or refused, and the next caller is served."""

import json
import socket

import httpx

from tests.arena import PLAYER
from tests.factories import make_game, make_key
from tests.live import Web


def _send(web: Web, *pieces: bytes, then_close: bool = False) -> bytes:
    """Everything that is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            if then_close:
                return b""
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        except (ConnectionResetError, BrokenPipeError):
            received = b""  # refused without a word
        return received


def _request(target: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _parsed(received: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    return int(first.split()[1]), headers, body


RAW_TARGETS = [
    b"/v1/games/%ff%fe",
    b"/v1/games/%c0%af",
    b"/v1/games/%ed%a0%80",
    b"/v1/games/%00",
    b"/v1/games/%",
    b"/v1/games/%zz",
    b"/v1/games/%2e%2e%2f",
    b"/v1/games/../../admin",
    b"/v1/games/arena/../arena2",
    b"/v1//games",
    b"//v1/games",
    b"/v1/games/",
    b"/v1/games/arena%2Fplayers%2Fp-1",
    b"/v1/games/arena/players/a%2Fb",
    b"/v1/games/arena/players/..",
    b"/v1/games/arena/players/%0d%0aX-Evil:%201",
    b"/v1/games/" + b"a" * 10_000,
    b"/v1/" + b"a/" * 5_000,
    b"/v1/games/arena;x=1",
    b"/v1/games/\xff\xfe",
    b"/v1/games/<script>",
]


def test_no_address_however_odd_is_more_than_not_found(web: Web) -> None:
    make_game("arena")
    for target in RAW_TARGETS:
        status, headers, body = _parsed(_send(web, _request(target)))
        assert status in {400, 404}, (target[:60], status)
        assert b"x-evil" not in headers
        if b"x-request-id" in headers:  # a line that is not HTTP is refused before it is a request
            assert b"html" not in headers.get(b"content-type", b"") or target.startswith(b"//"), target[:60]
        if headers.get(b"content-type") == b"application/problem+json":
            assert json.loads(body)["status"] == status


def test_what_is_not_http_is_refused_and_the_next_call_served(web: Web) -> None:
    make_game("arena")
    for received in (
        _send(web, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        _send(web, b"GET /v1/games HTTP/9.9\r\n\r\n"),
        _send(web, b"GET /v1/games\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        _send(web, _request(b"/v1/games", b"X-A: a\x00b")),
        _send(web, _request(b"/v1/games", b"X A: b")),
        _send(web, _request(b"/v1/games", b"Content-Length: -1", method=b"PUT")),
        _send(web, _request(b"/v1/games", b"Content-Length: 1e3", method=b"PUT")),
        _send(web, _request(b"/v1/games", b"Content-Length: 3", b"Content-Length: 4", method=b"PUT") + b"{}  "),
        _send(web, _request(b"/v1/games", b"Transfer-Encoding: chunked", method=b"PUT") + b"zz\r\n{}\r\n0\r\n\r\n"),
        _send(web, _request(b"/v1/games", b"Authorization: Bearer " + b"a" * 100_000)),
        _send(web, _request(b"/v1/games", b"X-Long: " + b"a" * 1_000_000)),
        _send(web, _request(b"/v1/games", *[b"X-%d: a" % number for number in range(1000)])),
    ):
        assert not received or 400 <= _parsed(received)[0] < 500, received[:300]
        assert httpx.get(f"{web.origin}/v1/games/arena", timeout=60).status_code == 200


HANDSHAKE = (b"Upgrade: websocket", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==")


def _handshake(target: bytes, *headers: bytes, method: bytes = b"GET", body: bytes = b"") -> bytes:
    whole = _request(target, *HANDSHAKE, *headers, method=method)
    return whole.replace(b"Connection: close", b"Connection: Upgrade", 1) + body


def test_a_handshake_that_is_refused_is_answered_with_a_request_id(web: Web) -> None:
    for refused, statuses in (
        (_handshake(b"/ws/nowhere"), {403}),
        (_handshake(b"/ws", b"Origin: https://evil.example"), {403}),
        (_handshake(b"/ws", b"X-Request-Id: mine", b"X-A: a\x01b"), {400}),
        (_handshake(b"/ws").replace(b"Version: 13", b"Version: 12"), {400}),
        (_handshake(b"/ws").replace(b"cnVuZ", b"#"), {400}),
        (_handshake(b"/ws?" + b"a" * 9000), {400}),
        (_handshake(b"/ws", b"X-Long: " + b"a" * 9000), {400}),
    ):
        status, headers, _ = _parsed(_send(web, refused))
        assert status in statuses, (refused[:200], status)
        assert headers[b"x-request-id"], refused[:200]


def test_what_asks_to_upgrade_and_is_no_handshake_is_answered_as_an_ordinary_request(web: Web) -> None:
    make_game("arena")
    upgrade = (b"Connection: close, Upgrade", b"Upgrade: websocket")
    for asked, wanted in (
        (_request(b"/v1/games/arena", *upgrade), 200),
        (_request(b"/v1/games/arena/rulings", *upgrade, b"Content-Length: 2", method=b"POST") + b"{}", 401),
        (_handshake(b"/v1/games/arena", b"Content-Length: 2", b"Connection: close", body=b"{}"), 200),
        (_handshake(b"/ws", b"Content-Length: 2", b"Connection: close", body=b"{}"), 404),
    ):
        status, headers, _ = _parsed(_send(web, asked))
        assert (status, bool(headers[b"x-request-id"])) == (wanted, True), asked[:300]


def test_a_request_id_cannot_put_a_header_or_a_line_anywhere(web: Web) -> None:
    make_game("arena")
    for offered in (b"a\r\n b: c", b"a\rSet-Cookie: b=c", b"\xc3\xa4", b"a" * 1024, b"a\x1b[31m", b"a%0aforged"):
        received = _send(web, _request(b"/v1/games/arena", b"X-Request-Id: " + offered))
        if received and b"x-request-id" in _parsed(received)[1]:
            status, headers, _ = _parsed(received)
            assert status in {200, 400}
            assert len(headers[b"x-request-id"]) == 32
            assert b"set-cookie" not in headers


def test_a_body_in_chunks_is_read_like_any_other_and_bounded_like_any_other(web: Web) -> None:
    key = make_key(make_game("arena"))
    said = [f"Authorization: Bearer {key}".encode(), b"Content-Type: application/json", b"Transfer-Encoding: chunked"]
    begin = _request(PLAYER.encode(), *said, method=b"PUT")
    body = b'{"display_name": "Nova"}'
    pieces = [b"1\r\n" + body[at : at + 1] + b"\r\n" for at in range(len(body))]
    status, _, answer = _parsed(_send(web, begin, *pieces, b"0\r\n\r\n"))
    assert (status, json.loads(answer)["display_name"]) == (201, "Nova")
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    received = _send(web, begin, *[piece] * 9, b"0\r\n\r\n")
    assert not received or _parsed(received)[0] == 413
    declared = _request(PLAYER.encode(), said[0], said[1], b"Content-Length: 99999999999", method=b"PUT")
    status, headers, _ = _parsed(_send(web, declared))
    assert (status, headers[b"content-type"]) == (413, b"application/problem+json")
    assert httpx.get(f"{web.origin}{PLAYER}", timeout=60).json()["display_name"] == "Nova"


def test_what_follows_a_body_is_no_header(web: Web) -> None:
    """A proxy of ours that sets X-Forwarded-For lets it through there."""
    key = make_key(make_game("arena"))
    said = [b"Content-Type: application/json", b"Transfer-Encoding: chunked"]
    body = b'{"display_name": "Nova"}'
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    trailers = f"Authorization: Bearer {key}\r\nX-Forwarded-For: 127.0.0.1\r\nX-Last: 1\r\n\r\n".encode()
    begin = _request(PLAYER.encode(), *said, method=b"PUT")
    assert _parsed(_send(web, begin + chunks + trailers))[0] == 401


def test_a_caller_who_hangs_up_half_way_changes_nothing_and_disturbs_nobody(web: Web) -> None:
    key, before = make_key(make_game("arena")), len(web.said())
    said = [f"Authorization: Bearer {key}".encode(), b"Content-Type: application/json"]
    for number in range(30):
        begin = _request(PLAYER.encode(), *said, b"Content-Length: 1000", method=b"PUT")
        _send(web, begin, b'{"display_name": "N'[: number % 19], then_close=True)
        _send(web, begin[: number * 5], then_close=True)
    assert httpx.get(f"{web.origin}{PLAYER}", timeout=60).status_code == 404
    assert httpx.get(f"{web.origin}/readyz", timeout=60).status_code == 200
    assert "request_failed" not in web.said()[before:]


def test_nothing_that_is_sent_forges_a_line_in_the_log(web: Web) -> None:
    make_game("arena")
    for line_break in (b"%0A", b"%0D%0A", b"%E2%80%A8", b"%C2%85", b"%1B%5B2J"):
        forged = line_break + b"2026-01-01T00:00:00Z [info] FORGED".replace(b" ", b"%20")
        _send(web, _request(b"/v1/games/arena/players/" + forged))
        _send(web, _request(b"/v1/" + forged, b"User-Agent: FORGED", b"Referer: FORGED"))
        _send(web, _request(b"/v1/games/arena", b"Authorization: Bearer \x85FORGED\x1b[2J"))
        _send(web, _request(b"/v1/games/arena", b"Host: \x85FORGED"))
    said = web.said()
    assert "\x1b" not in said
    lines = [line for line in said.splitlines() if "FORGED" in line]
    assert lines
    assert not [line for line in lines if line.startswith(("2026-01-01", "FORGED", " "))]
