"""Bytes in an address that are no UTF-8 name nothing: no player, no game, and not the player of another address."""

import socket

import pytest

from leaderboards.models import Mode
from players.models import Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
BOARD = "/v1/games/arena/modes/solo/leaderboards/alltime"
NO_TEXT = ["%ff", "%fe", "%c3%28", "%ed%a0%80", "p-1%80", "%f8%88%80%80%80"]


@pytest.fixture(autouse=True)
def solo() -> Mode:
    game = make_game("arena")
    for player_id in ("%ff", "%FF", "%FE", "p-1"):
        make_player(game, player_id)
    return make_mode(game, min_score=0, max_score=1000, submit="open")


@pytest.mark.parametrize("name", NO_TEXT)
def test_it_is_refused_in_any_place_of_any_address(web: Web, solo: Mode, name: str) -> None:
    key, token = make_key(solo.game), make_token(solo.game, "p-1")
    before = Player.objects.count()
    paths = [
        f"{BOARD}/players/{name}",
        f"/v1/games/arena/players/{name}",
        f"/v1/games/arena/players/{name}/ranks",
        f"/v1/games/{name}",
        f"/v1/games/arena/modes/{name}",
        f"/v1/games/arena/modes/solo/leaderboards/{name}",
        f"/v1/games/arena/players/p-1/attempts/{name}",
        f"/g/arena/players/{name}",
        f"/g/{name}",
        f"/{name}",
    ]
    for credential in ("", key, token):
        assert [_status(web, "GET", path, credential) for path in paths] == [404] * len(paths)
    assert _status(web, "PUT", f"/v1/games/arena/players/{name}", key) == 404
    assert _status(web, "DELETE", f"/v1/games/arena/players/{name}", key) == 404
    assert Player.objects.filter(player_id__isnull=False).count() == before
    assert _status(web, "GET", "/v1/games/arena/players/%25FF", "") == 200, "a percent sign, well written"


@pytest.mark.parametrize("raw", [b"\xff", b"\xc3\xa4", b"\x80"])
def test_bytes_that_are_not_encoded_are_no_request(web: Web, raw: bytes) -> None:
    for target in (b"/v1/games/arena/players/" + raw, b"/g/arena?q=" + raw, b"/v1/games?x=" + raw):
        assert _answer(web, b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n") in (
            200,
            400,
        )
    assert _answer(web, b"GET /v1/games/arena/players/" + raw + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") == 400


def test_a_scope_and_a_cursor_are_text(api: ApiClient) -> None:
    for query in ("scope=country:%ff", "scope=level:%fe", "cursor=%ff", "include=%ff"):
        assert told(api.get(f"{BOARD}?{query}")) == (400, "invalid_request")


def _status(web: Web, method: str, path: str, credential: str) -> int:
    body = b"{}" if method == "PUT" else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    head += "Content-Type: application/json\r\n" + (f"Authorization: Bearer {credential}\r\n" if credential else "")
    return _answer(web, head.encode() + b"\r\n" + body)


def _answer(web: Web, request: bytes) -> int:
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as connection:
        connection.sendall(request)
        return int(connection.recv(65_536).split(b" ", 2)[1])
