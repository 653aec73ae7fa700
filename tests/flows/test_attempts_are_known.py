"""What became of an attempt: sent again, looked up, waited for, refused."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import recall
from config.wire import Exact
from leaderboards import dimension_values
from leaderboards.models import Mode, Outbox
from leaderboards.projection import DimensionValue
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Player
from players.scopes import Scope
from tests.at_once import at_once
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.leaderboards.spine import drain, drained

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
ATTEMPTS = "/v1/games/arena/players/p-1/attempts"


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000, dimensions=("country", "level"))


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game)


def _send(
    api: ApiClient, key: str, score: int, *, query: str = "", headers: dict[str, str] | None = None, **fields: Any
) -> httpx.Response:
    body = {"player_id": "p-1", "score": score, **fields}
    return api("POST", f"{SOLO}/scores{query}", credential=key, headers=headers, json=body)


def test_the_same_attempt_with_dimensions_is_the_same(api: ApiClient, key: str) -> None:
    attempt = str(uuid4())
    sent = [_send(api, key, 5, attempt_id=attempt, dimensions={"level": "7"}) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [202, 200]
    assert _send(api, key, 5, attempt_id=attempt, dimensions={"level": "8"}).status_code == 409


def test_what_became_of_an_attempt(api: ApiClient, solo: Mode, key: str) -> None:
    sent = _send(api, key, 700, dimensions={"level": "7"}, metadata={"map": "ice", "kills": 3}, client={"build": "1"})
    known = api.get(f"{ATTEMPTS}/{sent.json()['attempt_id']}", credential=key)
    assert known.status_code == 200
    found = known.json()
    assert (found["state"], found["mode"], found["score"]) == ("accepted", "solo", 700)
    assert found["windows"] == sent.json()["windows"]
    assert found["dimensions"] == {"level": "7"}
    assert found["metadata"] == {"map": "ice", "kills": 3}
    assert found["achieved_at"] <= found["received_at"]
    assert "client" not in found
    assert api.get(ATTEMPTS, credential=key).json() == {"attempts": [found], "next_cursor": None}


def test_attempts_are_listed_newest_first_and_paged(api: ApiClient, key: str) -> None:
    together = [str(uuid4()) for _ in range(5)]  # of one moment, over more than one page
    scores = [{"mode": "solo", "player_id": "p-1", "score": 1, "attempt_id": attempt} for attempt in together]
    api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores})
    sent = [_send(api, key, n).json()["attempt_id"] for n in range(5)]
    _send(api, key, 1, player_id="p-2")
    seen: list[str] = []
    cursor = ""
    while True:
        page = api.get(f"{ATTEMPTS}?limit=2{cursor}", credential=key).json()
        seen += [attempt["attempt_id"] for attempt in page["attempts"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen[:5] == sent[::-1]
    assert sorted(seen[5:]) == sorted(together)
    assert seen == [one["attempt_id"] for one in api.get(ATTEMPTS, credential=key).json()["attempts"]]
    other = api.get(f"{ATTEMPTS.replace('p-1', 'p-2')}?limit=2{cursor}", credential=key)
    assert told(other) == (400, "invalid_request")
    assert told(api.get(f"{ATTEMPTS}?cursor=garbage", credential=key)) == (400, "invalid_request")


def test_who_may_know_of_an_attempt(api: ApiClient, solo: Mode, key: str) -> None:
    attempt = _send(api, key, 5).json()["attempt_id"]
    one = f"{ATTEMPTS}/{attempt}"
    for path in (ATTEMPTS, one):
        assert api.get(path, credential=make_token(solo.game, "p-1")).status_code == 200
        assert told(api.get(path, credential=make_token(solo.game, "p-2"))) == (403, "forbidden")
        assert told(api.get(path, credential=make_key(solo.game, Scope.SUBMIT))) == (403, "forbidden")
        assert told(api.get(path)) == (401, "unauthenticated")
        assert told(api.get(path, credential=make_key(make_game()))) == (404, "game_not_found")
    _send(api, key, 5, player_id="p-2")
    assert told(api.get(one.replace("p-1", "p-2"), credential=key)) == (404, "attempt_not_found")
    assert told(api.get(f"{ATTEMPTS}/{uuid4()}", credential=key)) == (404, "attempt_not_found")
    assert told(api.get(f"{ATTEMPTS}/nope", credential=key)) == (404, "attempt_not_found")
    assert told(api.get(one.replace("p-1", "p-9"), credential=key)) == (404, "player_not_found")


def test_the_id_may_come_as_a_header(api: ApiClient, key: str) -> None:
    attempt = str(uuid4())
    headers = {"Idempotency-Key": attempt}
    assert [_send(api, key, 5, headers=headers).status_code for _ in range(2)] == [202, 200]
    assert _send(api, key, 5, attempt_id=attempt).json()["duplicate"]
    assert _send(api, key, 5, headers=headers, attempt_id=attempt.upper()).json()["duplicate"]
    assert told(_send(api, key, 5, headers=headers, attempt_id=str(uuid4()))) == (400, "invalid_request")
    assert told(_send(api, key, 5, headers={"Idempotency-Key": "nope"})) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("rules", "scores", "expected"),
    [
        ({}, [5, 9, 7, 9], [(None, True), (5, True), (9, False), (9, False)]),
        ({"order": "asc"}, [5, 9, 3], [(None, True), (5, False), (5, True)]),
        ({"aggregation": "sum"}, [5, 9, 0], [(None, True), (5, True), (14, False)]),
        ({"aggregation": "latest"}, [5, 9, 7], [(None, True), (5, True), (9, False)]),
    ],
)
def test_an_answer_says_what_was_best_before(  # noqa: PLR0913 - three are the case
    api: ApiClient, solo: Mode, key: str, *, rules: dict[str, Any], scores: list[int], expected: list[Any]
) -> None:
    Mode.objects.update(**rules)
    solo.refresh_from_db()
    told_so = []
    for score in scores:
        answer = _send(api, key, score).json()
        alone = (None if answer["previous_best"] is None else 1, 1, True)
        assert (answer["rank_before"], answer["rank_after"], answer["estimate"]) == alone
        told_so.append((answer["previous_best"], answer["improved"]))
        drain(solo)
    assert told_so == expected


def test_the_answer_speaks_of_the_window_that_was_asked_for(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(grace_seconds=3 * 24 * 3600)
    solo.refresh_from_db()
    early = (timezone.now() - timedelta(days=2)).isoformat()
    _send(api, key, 9, achieved_at=early)
    drain(solo)
    daily = _send(api, key, 5, query="?window=daily").json()
    assert (daily["window"], daily["previous_best"], daily["improved"]) == ("daily", None, True)
    alltime = _send(api, key, 5).json()
    assert (alltime["window"], alltime["previous_best"], alltime["improved"]) == ("alltime", 9, False)
    late = _send(api, key, 5, query="?window=daily", achieved_at=early).json()
    assert late["improved"] is False, "it does not count in today's"
    assert told(_send(api, key, 5, query="?window=hourly")) == (404, "window_not_found")
    assert told(_send(api, key, 5, query="?window=..")) == (400, "invalid_request")


def test_boards_that_do_not_answer_keep_no_score_out(api: ApiClient, solo: Mode, key: str, settings: Any) -> None:
    _send(api, key, 5)
    drain(solo)
    settings.VALKEY_URL = "redis://127.0.0.1:1/0"
    answer = _send(api, key, 6)
    assert answer.status_code == 202
    assert (answer.json()["previous_best"], answer.json()["improved"]) == (None, None)
    assert _send(api, key, 6, headers={"Prefer": "wait=1"}).status_code == 202
    assert Outbox.objects.count() == 2


@pytest.mark.parametrize("shards", [1, 3])
def test_who_waits_is_told_the_exact_rank(api: ApiClient, solo: Mode, key: str, shards: int) -> None:
    Mode.objects.update(shards=shards)
    solo.refresh_from_db()
    wait = {"Prefer": "respond-async, wait=10"}
    with drained(solo):
        for n in (2, 3, 4):
            assert _send(api, key, n * 100, headers=wait, player_id=f"p-{n}").status_code == 200
        answer = _send(api, key, 250, headers=wait)
        first = answer.json()
        assert (answer.status_code, first["status"], first["estimate"]) == (200, "committed", False)
        assert (first["previous_best"], first["improved"], first["total"]) == (None, True, 4)
        assert (first["rank_before"], first["rank_after"], first["delta"]) == (None, 3, None)
        listed = api.get(f"{SOLO}/leaderboards/alltime").json()
        assert listed["version"] == first["version"]
        assert listed["entries"][2]["player_id"] == "p-1"
        better = _send(api, key, 350, headers=wait).json()
        assert (better["previous_best"], better["improved"]) == (250, True)
        assert (better["rank_before"], better["rank_after"], better["delta"]) == (3, 2, 1)
        worse = _send(api, key, 10, headers=wait).json()
        assert (worse["rank_before"], worse["rank_after"], worse["delta"], worse["improved"]) == (2, 2, 0, False)
        again = _send(api, key, 10, headers=wait, attempt_id=worse["attempt_id"]).json()
        assert (again["duplicate"], again["status"], again["rank_after"]) == (True, "committed", 2)
        assert (again["rank_before"], again["delta"]) == (2, 0)


def test_who_waits_in_vain_is_told_that_it_is_taken(api: ApiClient, solo: Mode, key: str) -> None:
    for wait in ("wait=1", "wait=0", "wait=x", "wait=-1", "await=9", ""):
        answer = _send(api, key, 5, headers={"Prefer": wait})
        assert (answer.status_code, answer.json()["status"]) == (202, "accepted")
    assert Outbox.objects.count() == 6


@pytest.mark.parametrize(
    ("kind", "days", "refused"),
    [("ban", None, True), ("suspension", 1, True), ("shadow", None, False), ("suspension", -1, False)],
)
def test_who_is_banned_submits_nothing(  # noqa: PLR0913 - three are the case
    api: ApiClient, solo: Mode, key: str, *, kind: str, days: int | None, refused: bool
) -> None:
    now = timezone.now()
    ends = None if days is None else now + timedelta(days=days)
    player = make_player(solo.game, "p-1")
    Ban.objects.create(player=player, kind=kind, starts_at=now - timedelta(days=3), ends_at=ends, reason="x")
    answer = _send(api, key, 5)
    assert answer.status_code == (422 if refused else 202)
    if refused:
        assert told(answer) == (422, "player_banned")
    scores = [{"mode": "solo", "player_id": f"p-{n}", "score": 1} for n in range(3)]
    batch = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores}).json()
    assert [(error["index"], error["code"]) for error in batch["errors"]] == ([(1, "player_banned")] if refused else [])


def test_a_dimension_takes_so_many_values_and_no_more(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(dimension_values=3)

    def batch(*levels: str) -> list[tuple[int, list[str]]]:
        scores = [
            {"mode": "solo", "player_id": f"p-{n}", "score": 1, "dimensions": {"level": level}}
            for n, level in enumerate(levels)
        ]
        answer = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores}).json()
        assert answer["accepted"] == len(levels)
        return [(item["index"], item["scopes"]) for item in answer.get("scopes_left_out", [])]

    assert batch("a", "b", "a") == []
    assert batch("c", "d", "a", "d", "e") == [(1, ["level:d"]), (3, ["level:d"]), (4, ["level:e"])]
    assert _send(api, key, 1, dimensions={"level": "f"}).json()["scopes_left_out"] == ["level:f"]
    dimension_values._known.clear()  # noqa: SLF001 - as in another process
    assert _send(api, key, 1, dimensions={"level": "c"}).status_code == 202
    assert _send(api, key, 1).status_code == 202
    Mode.objects.update(dimension_values=4)
    assert batch("f", "g") == [(1, ["level:g"])]


def test_a_dimension_takes_no_more_values_from_many_at_once(solo: Mode) -> None:
    Mode.objects.update(dimension_values=3)
    solo.refresh_from_db()
    game, caller = record_of(solo.game), Caller(Kind.KEY, game="arena")
    make_player(solo.game, "p-1")

    def submit(number: int) -> bool:
        sent = Submission(player_id="p-1", score=Exact(1), dimensions={"level": str(number)})
        (outcome,) = scores_submit(game=game, caller=caller, items=[Item(solo, sent)])
        assert isinstance(outcome, Outcome)
        return not outcome.logged.left_out

    assert sum(at_once(submit)) == 3
    assert DimensionValue.objects.count() == 3


def test_a_batch_takes_as_many_queries_as_one(api: ApiClient, key: str) -> None:
    def cost(count: int, of: str) -> int:
        scores = [
            {"mode": "solo", "player_id": f"{of}-{n}", "score": 1, "dimensions": {"level": f"{of}{n}"}}
            for n in range(count)
        ]
        recall.forget()  # what is remembered would make it a matter of time
        with CaptureQueriesContext(connection) as queries:
            answer = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores})
        assert answer.json()["accepted"] == count
        return len(queries)

    cost(1, "a")
    assert cost(1, "b") == cost(60, "c")
    assert Player.objects.count() == 62


def test_metadata_comes_back_as_it_was_sent_and_takes_no_more_room(api: ApiClient, solo: Mode, key: str) -> None:
    sent = {"wide": [1e308] * 200, "exact": 0.1, "name": "Nóva"}
    body = {"player_id": "p-1", "score": 5, "metadata": sent}
    made = api("POST", f"{SOLO}/scores", credential=key, json=body).json()
    found = api.get(f"/v1/games/arena/players/p-1/attempts/{made['attempt_id']}", credential=key)
    assert found.json()["metadata"] == sent
    assert len(found.content) < 4000
