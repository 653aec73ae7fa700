"""Boards are read in many ways, and all of them agree."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config import recall, valkey
from leaderboards.boards import store
from leaderboards.models import Mode
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.hearing import all_heard
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BOARD = f"{SOLO}/leaderboards/alltime"
KINDS = [("unique", 1), ("unique", 3), ("competition", 1), ("competition", 3), ("dense", 1)]

Fill = Callable[..., None]


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000)


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game)


@pytest.fixture
def fill(api: ApiClient, solo: Mode, key: str) -> Fill:
    """Scores of players, by their numbers, on the boards of a mode with these rules."""

    def act(scores: dict[int, int], **rules: Any) -> None:
        Mode.objects.filter(pk=solo.pk).update(**rules)
        recall.forget()
        solo.refresh_from_db()
        items = [{"mode": "solo", "player_id": f"p-{n}", "score": score} for n, score in scores.items()]
        answer = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": items})
        assert answer.json()["accepted"] == len(scores)
        drain(solo)

    return act


def _lookup(api: ApiClient, *player_ids: str) -> Any:
    answer = api("POST", f"{BOARD}/lookup", json={"player_ids": player_ids})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["player_id"] for entry in entries]


def test_a_player_asks_where_it_stands_itself(api: ApiClient, solo: Mode, key: str, fill: Fill) -> None:
    fill({1: 5, 2: 9})
    own = api.get(f"{BOARD}/me?neighbors=1", credential=make_token(solo.game, "p-1"))
    assert own.json() == api.get(f"{BOARD}/players/p-1?neighbors=1").json()
    assert own.json()["rank"] == 2
    assert told(api.get(f"{BOARD}/me")) == (401, "unauthenticated")
    assert told(api.get(f"{BOARD}/me", credential=key)) == (403, "forbidden")
    assert told(api.get(f"{BOARD}/me", credential=make_token(solo.game, "p-9"))) == (404, "player_not_found")


@pytest.mark.parametrize(("ranking", "shards"), KINDS)
def test_a_lookup_agrees_with_the_list(api: ApiClient, solo: Mode, fill: Fill, ranking: str, shards: int) -> None:
    fill({n: n % 4 for n in range(20)}, ranking=ranking, shards=shards)
    make_player(solo.game, "idle")
    board = api.get(BOARD).json()
    asked = [*reversed(_ids(board["entries"])), "nobody", "idle"]
    found = _lookup(api, *asked)
    assert found["version"] == board["version"]
    assert found["not_found"] == ["nobody"]
    assert found["entries"][:-1] == board["entries"][::-1]
    idle = found["entries"][-1]
    assert (idle["player_id"], idle["rank"], idle["score"]) == ("idle", None, None)


def test_a_lookup_before_any_score_and_of_too_many(api: ApiClient, solo: Mode) -> None:
    make_player(solo.game, "idle")
    assert _ids(_lookup(api, "idle", "idle")["entries"]) == ["idle", "idle"], "as asked, twice too"
    assert _lookup(api) == {"version": 0, "entries": [], "not_found": []}
    assert told(api("POST", f"{BOARD}/lookup", json={"player_ids": ["x"] * 1001})) == (400, "invalid_request")
    assert told(api("POST", f"{BOARD}/lookup?scope=guild:x", json={"player_ids": []})) == (404, "scope_not_found")


@pytest.mark.parametrize("path", ["", "/players/p-1?neighbors=50", "/lookup", "?offset=1", "?min_score=1&max_score=2"])
def test_queries_and_trips_do_not_grow_with_the_rows(
    api: ApiClient, fill: Fill, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips: list[int] = []
    ask = valkey.ask

    def counted(*args: Any, **named: Any) -> list[Any]:
        trips.append(1)
        return ask(*args, **named)

    monkeypatch.setattr(valkey, "ask", counted)

    def cost() -> tuple[int, int]:
        recall.forget()  # what is remembered would make it a matter of time
        all_heard()
        trips.clear()
        with CaptureQueriesContext(connection) as queries:
            if path == "/lookup":
                _lookup(api, *(f"p-{n}" for n in range(60)))
            else:
                assert api.get(BOARD + path).status_code == 200
        return len(queries), len(trips)

    fill({n: n % 3 for n in range(3)}, shards=3)
    cost()  # that a mode has boards is asked once
    few = cost()
    fill({n: n % 3 for n in range(60)})
    assert cost() == few
    assert few[0] <= 8
    assert few[1] <= 3


def _walk(api: ApiClient, query: str, direction: str = "next_cursor") -> list[dict[str, Any]]:
    """All pages from there on, in the order in which they were read."""
    rows: list[dict[str, Any]] = []
    page = api.get(f"{BOARD}?{query}").json()
    while True:
        rows += page["entries"] if direction == "next_cursor" else page["entries"][::-1]
        if page[direction] is None:
            return rows
        page = api.get(f"{BOARD}?limit=7&cursor={page[direction]}").json()


@pytest.mark.parametrize(("ranking", "shards"), KINDS)
@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("tie_break", ["earliest", "none"])
def test_pages_by_cursor_lose_no_row_and_have_none_twice(  # noqa: PLR0913 - each is a rule
    api: ApiClient, fill: Fill, *, ranking: str, shards: int, order: str, tie_break: str
) -> None:
    fill({n: n % 3 for n in range(50)}, ranking=ranking, shards=shards, order=order, tie_break=tie_break)
    listed = api.get(f"{BOARD}?limit=1000").json()
    assert (listed["next_cursor"], listed["prev_cursor"]) == (None, None)
    assert len(listed["entries"]) == 50
    assert _walk(api, "limit=7") == listed["entries"]
    assert _walk(api, "limit=3&offset=47", "prev_cursor") == listed["entries"][::-1]
    assert api.get(f"{BOARD}?limit=5&offset=13").json()["entries"] == listed["entries"][13:18]
    band = [entry for entry in listed["entries"] if entry["score"] in (1, 2)]
    assert _walk(api, "limit=4&min_score=1&max_score=2") == band
    assert _walk(api, f"limit=4&offset={len(band) - 4}&min_score=1&max_score=2", "prev_cursor") == band[::-1]
    assert api.get(f"{BOARD}?limit=2&offset=3&min_score=1&max_score=2").json()["entries"] == band[3:5]


def test_rows_that_come_and_go_between_two_pages_move_no_other(api: ApiClient, fill: Fill) -> None:
    fill({n: 100 - n for n in range(20)})
    first = api.get(f"{BOARD}?limit=5").json()
    assert _ids(first["entries"]) == [f"p-{n}" for n in range(5)]
    fill({4: 500, 30: 600, 31: 95})  # the last one read moves up, one comes above and one right after
    second = api.get(f"{BOARD}?limit=5&cursor={first['next_cursor']}").json()
    assert _ids(second["entries"]) == ["p-5", "p-31", "p-6", "p-7", "p-8"]
    assert [entry["rank"] for entry in second["entries"]] == [7, 8, 9, 10, 11]


def test_a_band_of_scores_has_its_own_total_and_the_boards_ranks(api: ApiClient, fill: Fill) -> None:
    fill({n: n * 10 for n in range(10)})
    band = api.get(f"{BOARD}?min_score=20&max_score=50").json()
    assert band["total"] == 4
    assert [(entry["rank"], entry["score"]) for entry in band["entries"]] == [(5, 50), (6, 40), (7, 30), (8, 20)]
    assert api.get(f"{BOARD}?min_score=75").json()["total"] == 2
    assert api.get(f"{BOARD}?max_score=5").json()["total"] == 1
    assert api.get(f"{BOARD}?min_score=50&max_score=20").json()["total"] == 0
    assert told(api.get(f"{BOARD}?min_score=1.5")) == (400, "invalid_request")


def test_a_cursor_belongs_to_its_board_and_window(api: ApiClient, solo: Mode, fill: Fill) -> None:
    fill({n: n for n in range(5)})
    cursor = api.get(f"{BOARD}?limit=2").json()["next_cursor"]
    other = make_mode(solo.game, "other")
    assert api.get(f"{BOARD}?cursor={cursor}").status_code == 200
    refused = [
        f"{SOLO}/leaderboards/daily?cursor={cursor}",
        f"{BOARD}?scope=country:DE&cursor={cursor}",
        f"/v1/games/arena/modes/{other.slug}/leaderboards/alltime?cursor={cursor}",
        f"{BOARD}?min_score=1&cursor={cursor}",
        *(f"{BOARD}?cursor={bad}" for bad in ("x", "%C3%A4", "AAAA", cursor[:-3], cursor[3:], "k6Fi")),
    ]
    for path in refused:
        assert told(api.get(path)) == (400, "invalid_request"), path


def test_what_is_read_in_several_trips_is_of_one_moment(
    api: ApiClient, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill({1: 10, 2: 20}, ranking="competition")  # of which a rank takes two
    ask, moves = store.read_each, iter([{3: 30}, {4: 40}])

    def disturbed(*args: Any, **named: Any) -> Any:
        answers = ask(*args, **named)
        if moved := next(moves, None):  # right after the first trip, the board changes
            fill(moved)
        return answers

    monkeypatch.setattr(store, "read_each", disturbed)
    own = api.get(f"{BOARD}/players/p-1").json()
    listed = api.get(BOARD).json()
    assert (own["rank"], own["total"]) == (4, 4)
    assert own["version"] == listed["version"]


@pytest.mark.parametrize(("order", "best", "beyond"), [("desc", 1023, "min_score=1024"), ("asc", 0, "max_score=-1")])
def test_a_band_beyond_the_range_is_empty(api: ApiClient, order: str, best: int, beyond: str) -> None:
    """Also where the range fills its bits, and the best score has the last place there is."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1023, order=order)
    sent = {"player_id": "p-1", "score": best}
    api("POST", f"{SOLO}/scores", credential=make_key(mode.game), json=sent)
    drain(mode)
    band = api.get(f"{BOARD}?{beyond}").json()
    assert (band["total"], band["entries"]) == (0, [])
    assert api.get(f"{BOARD}?min_score={best}&max_score={best}").json()["total"] == 1
    for everything in ("min_score=-9007199254740992", "max_score=9007199254740992"):
        assert api.get(f"{BOARD}?{everything}").json()["total"] == 1


def test_a_lookup_of_strangers_has_the_boards_version_too(api: ApiClient, fill: Fill) -> None:
    fill({1: 5})
    found = api("POST", f"{BOARD}/lookup", json={"player_ids": ["nobody"]}).json()
    assert found == {"version": api.get(BOARD).json()["version"], "entries": [], "not_found": ["nobody"]}
