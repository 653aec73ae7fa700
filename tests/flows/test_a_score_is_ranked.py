"""A score over the API: taken once, ranked the same wherever one looks."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest

from leaderboards.models import Mode, Outbox
from leaderboards.wire import ValueBounds
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000, dimensions=("region", "country", "level"))


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game)


def _send(api: ApiClient, key: str, player: str, score: object, **fields: object) -> int:
    body = {"player_id": player, "score": score, **fields}
    return api("POST", f"{SOLO}/scores", credential=key, json=body).status_code


def test_a_score_is_taken_then_ranked(api: ApiClient, solo: Mode, key: str) -> None:
    answer = api("POST", f"{SOLO}/scores", credential=key, json={"player_id": "p-1", "score": 700})
    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["score"], answer.json()["duplicate"]) == ("accepted", 700, False)
    assert [window.partition(":")[0] for window in answer.json()["windows"]] == [
        "daily",
        "weekly",
        "monthly",
        "alltime",
    ]
    drain(solo)
    board = api.get(f"{SOLO}/leaderboards/daily").json()
    assert [(entry["rank"], entry["player_id"], entry["score"]) for entry in board["entries"]] == [(1, "p-1", 700)]
    assert (board["total"], board["version"]) == (1, 1)


RANKS = {"unique": [1, 2, 3, 4], "competition": [1, 2, 2, 4], "dense": [1, 2, 2, 3]}


@pytest.mark.parametrize(
    ("ranking", "shards"), [("unique", 1), ("unique", 3), ("competition", 1), ("competition", 3), ("dense", 1)]
)
def test_one_score_one_rank_wherever_one_looks(api: ApiClient, solo: Mode, key: str, ranking: str, shards: int) -> None:
    expected = RANKS[ranking]
    Mode.objects.filter(pk=solo.pk).update(ranking=ranking, shards=shards, tie_break="none")
    solo.refresh_from_db()
    for player, score in (("p-1", 5), ("p-2", 9), ("p-3", 5), ("p-4", 1)):
        assert _send(api, key, player, score) == 202
    drain(solo)
    listed = api.get(f"{SOLO}/leaderboards/alltime").json()["entries"]
    assert [entry["rank"] for entry in listed] == expected
    assert [entry["player_id"] for entry in listed] == ["p-2", "p-1", "p-3", "p-4"], "older players first among equals"
    for entry in listed:
        own = api.get(f"{SOLO}/leaderboards/alltime/players/{entry['player_id']}?neighbors=2").json()
        assert (own["rank"], own["score"]) == (entry["rank"], entry["score"])
        around = [*own["above"], entry, *own["below"]]
        index = listed.index(entry)
        assert around == listed[max(0, index - 2) : index + 3]
    assert api.get(f"{SOLO}/leaderboards/alltime?offset=1&limit=2").json()["entries"] == listed[1:3]


def test_the_same_attempt_counts_once_and_other_content_is_a_conflict(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(aggregation="sum")
    solo.refresh_from_db()
    attempt = str(uuid4())
    codes = [_send(api, key, "p-1", 5, attempt_id=attempt) for _ in range(3)]
    assert codes == [202, 200, 200]
    assert _send(api, key, "p-1", 6, attempt_id=attempt) == 409
    assert _send(api, key, "p-2", 6, attempt_id=attempt) == 202, "an id is a player's own"
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 5


def test_scopes_have_ranks_of_their_own(api: ApiClient, solo: Mode, key: str) -> None:
    for player, country in (("p-1", "DE"), ("p-2", "FR"), ("p-3", "DE")):
        api.put(f"/v1/games/arena/players/{player}", credential=key, json={"country": country})
    for player, score, level in (("p-1", 1, "7"), ("p-2", 2, "7"), ("p-3", 3, "8")):
        assert _send(api, key, player, score, dimensions={"level": level}) == 202
    drain(solo)

    def listed(scope: str) -> list[str]:
        entries = api.get(f"{SOLO}/leaderboards/alltime?scope={scope}").json()["entries"]
        return [entry["player_id"] for entry in entries]

    assert listed("country:DE") == ["p-3", "p-1"]
    assert listed("level:7") == ["p-2", "p-1"]
    assert listed("level:9") == []
    assert api.get(f"{SOLO}/leaderboards/alltime?scope=guild:x").json()["code"] == "scope_not_found"
    assert api.get(f"{SOLO}/leaderboards/hourly").json()["code"] == "window_not_found"


def test_a_batch_takes_the_good_and_names_the_bad(api: ApiClient, solo: Mode, key: str) -> None:
    scores = [{"mode": "solo", "player_id": f"p-{n}", "score": n} for n in range(100)]
    scores[17] |= {"score": 5000}
    scores[23] |= {"mode": "nope"}
    scores[42] |= {"score": "abc"}
    scores[43] = 7  # type: ignore[call-overload]
    scores[50] |= {"dimensions": {"country": "DE"}}
    answer = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores})
    assert answer.status_code == 202
    told = answer.json()
    assert (told["accepted"], told["duplicates"], told["rejected"]) == (95, 0, 5)
    assert [(error["index"], error["code"]) for error in told["errors"]] == [
        (17, "score_out_of_bounds"),
        (23, "mode_not_found"),
        (42, "invalid_request"),
        (43, "invalid_request"),
        (50, "invalid_request"),
    ]
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime").json()["total"] == 95
    assert not Outbox.objects.exists()


def test_lines_of_json_are_a_batch_too(api: ApiClient, solo: Mode, key: str) -> None:
    lines = b'{"mode": "solo", "player_id": "p-1", "score": 1}\n\n{"mode": "solo", "player_id": "p-2", "score": 2}\n'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = api("POST", "/v1/games/arena/scores", credential=key, content=lines, headers=headers)
    assert (answer.status_code, answer.json()["accepted"]) == (202, 2)


def test_who_may_submit(api: ApiClient, solo: Mode) -> None:
    token = make_token(solo.game, "p-1")
    assert api("POST", f"{SOLO}/scores", json={"player_id": "p-1", "score": 1}).status_code == 401
    assert api("POST", f"{SOLO}/scores", credential=token, json={"score": 1}).status_code == 403
    Mode.objects.update(submit="open")
    answer = api("POST", f"{SOLO}/scores", credential=token, json={"score": 1, "achieved_at": "2001-01-01T00:00:00Z"})
    assert (answer.status_code, answer.json()["player_id"]) == (202, "p-1"), "a player's own clock counts for nothing"
    assert api("POST", f"{SOLO}/scores", credential=token, json={"score": 1, "player_id": "p-2"}).status_code == 400


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"score": 1001}, "score_out_of_bounds"),
        ({"score": -1}, "score_out_of_bounds"),
        ({"score": 1.5}, "score_out_of_bounds"),
        ({"score": "1e999999"}, "score_out_of_bounds"),
        ({"score": "NaN"}, "invalid_request"),
        ({"score": True}, "invalid_request"),
        ({"score": None}, "invalid_request"),
        ({"achieved_at": "2099-01-01T00:00:00Z"}, "time_out_of_range"),
        ({"achieved_at": "0001-01-01T00:00:00Z"}, "time_out_of_range"),
        ({"achieved_at": "0001-01-01T00:00:00+23:59"}, "time_out_of_range"),
        ({"achieved_at": "9999-12-31T23:59:59-23:59"}, "time_out_of_range"),
        ({"achieved_at": "2026-01-01T00:00:00"}, "invalid_request"),
        ({"player_id": "a/b"}, "invalid_request"),
        ({"player_id": ""}, "invalid_request"),
        ({"attempt_id": "nope"}, "invalid_request"),
        ({"metadata": {"a": "x" * 3000}}, "invalid_request"),
        ({"dimensions": {"planet": "x"}}, "invalid_request"),
        ({"dimensions": {"level": "a b"}}, "invalid_request"),
    ],
)
def test_what_cannot_be_is_refused_and_not_stored(
    api: ApiClient, solo: Mode, key: str, fields: dict[str, object], code: str
) -> None:
    body = {"player_id": "p-1", "score": 1} | fields
    answer = api("POST", f"{SOLO}/scores", credential=key, json=body)
    assert answer.json()["code"] == code
    assert not Outbox.objects.exists()
    assert Mode.objects.get().first_score_at is None


def test_a_value_of_a_dimension_has_bounds_of_its_own(api: ApiClient) -> None:
    bounds = {"level:7": ValueBounds(max_score=Decimal("59.5")), "level:8": ValueBounds(min_score=Decimal(10))}
    mode = make_mode(make_game("arena"), decimals=1, dimensions=("level",), bounds=bounds)
    key = make_key(mode.game)

    def said(level: str, score: str) -> tuple[int, str]:
        body = {"player_id": "p-1", "score": score, "dimensions": {"level": level}}
        answer = api("POST", f"{SOLO}/scores", credential=key, json=body)
        return answer.status_code, answer.json().get("detail", "")

    assert said("7", "59.5") == said("7", "-100") == said("8", "10") == said("9", "1000") == (202, "")
    assert said("7", "59.6") == (422, "The score is more than 59.5.")
    assert said("8", "9.9") == (422, "The score is less than 10.0.")


def test_an_empty_board_is_no_error(api: ApiClient, solo: Mode, key: str) -> None:
    board = api.get(f"{SOLO}/leaderboards/weekly").json()
    assert (board["entries"], board["total"], board["state"]) == ([], 0, "live")
    assert datetime.fromisoformat(board["resets_at"]) > datetime.now(UTC)
    api.put("/v1/games/arena/players/p-1", credential=key, json={})
    own = api.get(f"{SOLO}/leaderboards/weekly/players/p-1").json()
    assert (own["rank"], own["score"]) == (None, None)
