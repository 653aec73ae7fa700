"""Query parameters under /v1: what there is not is named; the same asked in other words is the same kept page."""

import pytest
from pytest_django import Settings

from leaderboards.models import Mode
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BOARD = f"{SOLO}/leaderboards/alltime"
READS = [
    "/v1/games",
    "/v1/openapi.json",
    "/v1/games/arena",
    SOLO,
    f"{SOLO}/activity",
    BOARD,
    f"{BOARD}/players/p-1",
    f"{BOARD}/preview?score=1",
    f"{BOARD}/distribution",
    "/v1/games/arena/players/p-1",
    "/v1/games/arena/players/p-1/attempts",
    "/v1/games/arena/players/p-1/export",
    "/v1/games/arena/players/p-1/ranks",
    "/v1/games/arena/cases",
    "/v1/games/arena/rulings",
]


@pytest.fixture(autouse=True)
def solo() -> Mode:
    game = make_game("arena")
    make_player(game, "p-1")
    return make_mode(game, min_score=0, max_score=1000)


@pytest.fixture(params=[True, False], ids=["fast lane", "Django"])
def door(request: pytest.FixtureRequest, settings: Settings) -> ApiClient:
    settings.FAST_LANE = request.param
    return ApiClient()


def _and(path: str, query: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{query}"


@pytest.mark.parametrize("path", READS)
def test_what_an_address_does_not_know_is_refused_by_name(door: ApiClient, solo: Mode, path: str) -> None:
    key = make_key(solo.game)
    assert door.get(path, credential=key).status_code == 200
    for query in ("page=2", "x=0.123", "LIMIT=5", "utm_source=mail"):
        answer = door.get(_and(path, query), credential=key)
        assert told(answer) == (400, "invalid_request")
        name = query.partition("=")[0]
        assert answer.json()["errors"] == {name: ["unknown"]}
        assert repr(name) in answer.json()["detail"]


def test_the_refusal_says_what_there_is(door: ApiClient) -> None:
    there_are = "There are: cursor, include, limit, max_score, min_score, offset, scope."
    assert door.get(f"{BOARD}?page=2").json()["detail"] == f"There is no query parameter 'page'. {there_are}"
    assert door.get("/v1/games/arena?page=2").json()["detail"].endswith("This address takes none.")


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&limit=1", "scope=global&limit=5&scope=global"])
def test_a_parameter_stands_once(door: ApiClient, query: str) -> None:
    answer = door.get(f"{BOARD}?{query}")
    assert told(answer) == (400, "invalid_request")
    assert "more than once" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["scope=%ff", "%ff=1", "cursor=%fe", "scope=global&%c3%28", "a=%ed%a0%80"])
def test_a_query_that_is_no_utf8_is_refused(door: ApiClient, query: str) -> None:
    assert told(door.get(f"{BOARD}?{query}")) == (400, "invalid_request")
    assert told(door.get(f"/v1/games?{query}")) == (400, "invalid_request")


def test_writes_are_asked_the_same(door: ApiClient, solo: Mode) -> None:
    key, score = make_key(solo.game), {"player_id": "p-1", "score": 5}
    for path, body in (
        (f"{SOLO}/scores", score),
        ("/v1/games/arena/scores", {"scores": [{"mode": "solo", **score}]}),
        (f"{BOARD}/lookup", {"player_ids": ["p-1"]}),
        (f"{SOLO}/attempts", {"player_id": "p-1", "cap": 5}),
    ):
        assert told(door("POST", f"{path}?x=1", credential=key, json=body)) == (400, "invalid_request")
        assert door("POST", path, credential=key, json=body).status_code < 300
    assert told(door.put("/v1/games/arena/players/p-1?x=1", credential=key, json={})) == (400, "invalid_request")
    assert told(door.delete("/v1/games/arena/players/p-1?x=1", credential=key)) == (400, "invalid_request")
    assert door.get("/v1/games/arena/players/p-1").status_code == 200


def test_pages_ignore_what_they_do_not_know(door: ApiClient) -> None:
    for path in ("/g/arena/solo/alltime", "/g/arena", "/", "/v1/docs"):
        assert door.get(_and(path, "x=0.5&utm_source=mail&x=7&%ff=%fe")).status_code == 200
