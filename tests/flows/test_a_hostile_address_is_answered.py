"""Whatever is asked, by any method, header, address or id, is answered in the contract's words: never by a 500."""

from urllib.parse import quote

import pytest

from players.models import Game
from tests.arena import MODE, PLAYER
from tests.client import ApiClient, told
from tests.factories import make_mode, make_token


@pytest.mark.parametrize("method", ["POST", "PATCH", "TRACE", "BREW", "OPTIONS", "A" * 1000])
def test_a_method_that_an_address_does_not_take_is_refused_with_those_it_takes(
    api: ApiClient, arena: Game, method: str
) -> None:
    answer = api(method, PLAYER)
    assert told(answer) == (405, "method_not_allowed")
    assert method not in answer.text
    assert {"GET", "PUT", "DELETE"} <= {name.strip() for name in answer.headers["allow"].split(",")}


def test_head_is_get_without_the_body(api: ApiClient, arena: Game) -> None:
    make_mode(arena)
    for path in ("/v1/games", "/v1/games/arena", MODE, "/v1/openapi.json", "/livez"):
        answer = api("HEAD", path)
        assert (answer.status_code, answer.content) == (200, b""), path


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0.1", "", "\x7f", ";;;", "a" * 5000])
def test_whatever_is_asked_for_an_api_call_gets_json(api: ApiClient, arena: Game, accept: str) -> None:
    assert api.get("/v1/games/arena", headers={"Accept": accept}).headers["content-type"] == "application/json"
    assert told(api.get("/v1/nothing", headers={"Accept": accept})) == (404, "not_found")
    assert told(api.get(PLAYER, headers={"Accept": accept})) == (404, "player_not_found")


@pytest.mark.parametrize("host", ["evil.example", "a b", "[::1", "127.0.0.1@evil.example", "x" * 300])
def test_a_host_that_is_not_ours_is_refused_and_never_repeated(api: ApiClient, arena: Game, host: str) -> None:
    answer = api.get("/v1/games/arena", headers={"Host": host})
    assert told(answer) == (400, "invalid_request")
    assert host not in answer.text


def test_ten_thousand_query_parameters_are_refused(api: ApiClient, arena: Game) -> None:
    query = "&".join(["a=%00"] * 5_000 + ["%ff"] * 5_000)
    assert told(api.get(f"/v1/games/arena?{query}")) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        ("trace-17.a_B", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a" * 1000, False),
        ("a b", False),
        ("a\tb", False),
        ("ä", False),
        ("<script>", False),
        ('"; drop', False),
        ("", False),
    ],
)
def test_a_harmless_request_id_is_echoed_and_any_other_replaced(
    api: ApiClient, arena: Game, offered: str, kept: bool
) -> None:
    answer = api.get("/v1/games/arena", headers={"X-Request-Id": offered.encode()})
    assert (answer.headers["x-request-id"] == offered) is kept
    assert answer.headers.get_list("x-request-id") == [answer.headers["x-request-id"]]


IDS = [
    "Нова",
    "日本語",
    "👩🚀",
    "e\u0301",
    "a b",
    "100%",
    "%2F",
    "%00",
    "a+b",
    "a&b=c",
    "a?b#c",
    '"',
    "'; DROP TABLE players_player; --",
    "<script>alert(1)",
    "{{7*7}}",
    "${7*7}",
    "...",
    "a;b",
    "~",
    "@:,",
    "-",
    "_",
    "null",
    "export",
    "me",
    "x" * 64,
    "😀" * 64,
]


@pytest.mark.parametrize("player_id", IDS)
def test_a_player_id_may_hold_any_visible_character_and_comes_back_as_it_was(
    api: ApiClient, arena: Game, key: str, player_id: str
) -> None:
    path = f"/v1/games/arena/players/{quote(player_id, safe='')}"
    assert api.put(path, credential=key, json={}).status_code == 201
    assert api.get(path).json()["player_id"] == player_id
    assert api.get(f"{path}/export", credential=make_token(arena, player_id)).json()["player"]["player_id"] == player_id
    assert api.delete(path, credential=key).status_code == 204
    assert told(api.get(path)) == (404, "player_not_found")


NO_IDS = ["%00", "a%00b", "%0A", "%0D%0AX-Evil:1", "%1B[31m", "%7F", "%C2%85", "%E2%80%AE", "%E2%80%8B", "%20", "a%20"]
NO_IDS += ["x" * 65, "%5C", "%E2%80%A8", "%F0%9F%98%80" * 65]


@pytest.mark.parametrize("segment", NO_IDS)
def test_what_cannot_be_a_player_id_is_nobodys_and_cannot_be_made(api: ApiClient, key: str, segment: str) -> None:
    path = f"/v1/games/arena/players/{segment}"
    assert told(api.get(path)) == (404, "player_not_found")
    assert told(api.put(path, credential=key, json={})) == (400, "invalid_request")
    assert told(api.delete(path, credential=key)) == (404, "player_not_found")


@pytest.mark.parametrize(
    "slug", ["%00", "..%2F", "ARENA", "arena%0A", "%C3%A4", "-", "a" * 51, "a" * 10_000, "%F0%9F%98%80"]
)
def test_what_cannot_be_a_game_or_a_mode_is_not_found_and_cannot_be_made(api: ApiClient, key: str, slug: str) -> None:
    slug_is_a_path = "%2F" in slug
    answers = [api.get(f"/v1/games/{slug}"), api.get(f"/v1/games/{slug}/modes/solo", credential=key)]
    answers.append(api.get(f"/v1/games/arena/modes/{slug}", credential=key))
    assert [told(answer)[0] for answer in answers] == [404, 404, 404]
    made = told(api.put(f"/v1/games/arena/modes/{slug}", credential=key, json={}))
    assert made == ((404, "not_found") if slug_is_a_path else (400, "invalid_request"))
