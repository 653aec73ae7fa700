"""Values of dimensions: players make no new ones unless the mode says so, and no score is lost for want of room."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import connection
from django.utils import timezone

from anticheat.models import Case
from anticheat.services.replays import attempt_find
from config.wire import Exact
from leaderboards import commit, dimension_values
from leaderboards.models import Mode, Outbox
from leaderboards.projection import DimensionValue
from leaderboards.rules.mode import NEW_VALUES_A_DAY
from leaderboards.services.corrections import standings_retell
from leaderboards.services.rebuilding import mode_rebuild
from leaderboards.services.reconciling import reconcile_all
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Player
from tests.at_once import at_once
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BATCH = "/v1/games/arena/scores"
RULES: dict[str, Any] = {
    "min_score": 0,
    "max_score": 1000,
    "dimensions": ("region", "level"),
    "dimension_values": 3,
    "submit": "open",
}


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), **RULES)


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game)


def _token(mode: Mode, player_id: str) -> str:
    Player.objects.filter(player_id=player_id).exists() or make_player(mode.game, player_id, region="eu")
    return make_token(mode.game, player_id)


def _send(api: ApiClient, credential: str, level: str, *, score: int = 5, **fields: Any) -> httpx.Response:
    return api(
        "POST",
        f"{SOLO}/scores",
        credential=credential,
        json={"score": score, "dimensions": {"level": level}, **fields},
    )


def _left_out(answer: httpx.Response) -> list[str]:
    assert answer.status_code in {200, 202}, answer.text
    left_out: list[str] = answer.json().get("scopes_left_out", [])
    return left_out


def _values() -> list[str]:
    return sorted(DimensionValue.objects.values_list("value", flat=True))


def _board(api: ApiClient, scope: str) -> list[str]:
    page = api.get(f"{SOLO}/leaderboards/alltime?scope={scope}")
    assert page.status_code == 200, page.text
    return [entry["player_id"] for entry in page.json()["entries"]]


def _as_another_process() -> None:
    dimension_values._known.clear()  # noqa: SLF001 - what a process remembers, others do not


def test_one_player_cannot_use_up_the_values_of_a_dimension(api: ApiClient, solo: Mode, key: str) -> None:
    attacker = _token(solo, "attacker")
    for number in range(5):
        assert _left_out(_send(api, attacker, f"z{number}", score=number)) == [f"level:z{number}"]
    assert _values() == []
    assert _left_out(_send(api, key, "1", player_id="fair")) == []
    assert _left_out(_send(api, attacker, "1", score=9)) == [], "a value that is there already anybody may take"
    drain(solo)
    assert _board(api, "level:1") == ["attacker", "fair"]
    assert _board(api, "global") == ["attacker", "fair"]
    assert _board(api, "region:eu") == ["attacker"]
    assert _board(api, "level:z0") == []


def test_a_key_without_room_loses_no_score(api: ApiClient, solo: Mode, key: str) -> None:
    assert [_left_out(_send(api, key, level, player_id="p-1")) for level in "abc"] == [[], [], []]
    assert _left_out(_send(api, key, "d", player_id="p-2")) == ["level:d"]
    _as_another_process()
    assert _left_out(_send(api, key, "d", player_id="p-2")) == ["level:d"]
    assert _left_out(_send(api, key, "c", player_id="p-2")) == []
    assert _values() == ["a", "b", "c"]


def test_where_anyone_may_a_player_brings_a_few_a_day(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(new_values="anyone", dimension_values=1000)
    attacker = _token(solo, "attacker")
    left_out = []
    for number in range(NEW_VALUES_A_DAY + 3):
        _as_another_process()
        left_out += _left_out(_send(api, attacker, f"z{number}"))
    assert left_out == [f"level:z{NEW_VALUES_A_DAY + number}" for number in range(3)]
    assert _left_out(_send(api, _token(solo, "another"), "1")) == []
    DimensionValue.objects.update(brought_at=timezone.now() - timedelta(hours=25))
    assert _left_out(_send(api, attacker, "z99")) == []


def test_a_players_share_holds_over_many_processes_at_once(solo: Mode) -> None:
    Mode.objects.update(new_values="anyone", dimension_values=1000)
    solo.refresh_from_db()
    make_player(solo.game, "attacker")
    game, caller = record_of(solo.game), Caller(Kind.PLAYER, game="arena", player_id="attacker")

    def submit(thread: int) -> int:
        taken = 0
        for number in range(4):
            sent = Submission(score=Exact(1), dimensions={"level": f"{thread}-{number}"})
            (outcome,) = scores_submit(game=game, caller=caller, items=[Item(solo, sent)])
            assert isinstance(outcome, Outcome)
            taken += not outcome.logged.left_out
        return taken

    assert sum(at_once(submit)) == NEW_VALUES_A_DAY
    assert DimensionValue.objects.count() == NEW_VALUES_A_DAY


def test_what_is_refused_takes_no_room(api: ApiClient, solo: Mode, key: str) -> None:
    attempt = str(uuid4())
    assert _left_out(_send(api, key, "1", player_id="p-1", attempt_id=attempt)) == []
    Ban.objects.create(player=make_player(solo.game, "banned"), kind="ban", reason="x")
    conflict = _send(api, key, "a", player_id="p-1", attempt_id=attempt)
    assert told(conflict) == (409, "attempt_conflict")
    assert told(_send(api, key, "b", player_id="p-1", score=1001)) == (422, "score_out_of_bounds")
    assert told(_send(api, key, "c", player_id="banned")) == (422, "player_banned")
    items = [
        {"mode": "solo", "player_id": "p-1", "score": 5, "attempt_id": attempt, "dimensions": {"level": "d"}},
        {"mode": "solo", "player_id": "p-1", "score": 1001, "dimensions": {"level": "e"}},
    ]
    answer = api("POST", BATCH, credential=key, json={"scores": items}).json()
    assert [error["code"] for error in answer["errors"]] == ["attempt_conflict", "score_out_of_bounds"]
    assert "scopes_left_out" not in answer
    assert _values() == ["1"]


def test_of_the_same_attempt_sent_at_once_with_other_values_one_takes_room(solo: Mode) -> None:
    Mode.objects.update(dimension_values=100)
    solo.refresh_from_db()
    make_player(solo.game, "p-1")
    game, caller, attempt = record_of(solo.game), Caller(Kind.KEY, game="arena"), uuid4()

    def submit(number: int) -> bool:
        sent = Submission(player_id="p-1", attempt_id=attempt, score=Exact(1), dimensions={"level": str(number)})
        (outcome,) = scores_submit(game=game, caller=caller, items=[Item(solo, sent)])
        return isinstance(outcome, Outcome)

    assert sum(at_once(submit)) == 1
    assert DimensionValue.objects.count() == 1


def test_a_conflict_keeps_no_place_from_another_of_its_batch(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(dimension_values=1)
    attempt = str(uuid4())
    sent = {"mode": "solo", "player_id": "p-1", "score": 5, "attempt_id": attempt}
    assert api("POST", BATCH, credential=key, json={"scores": [sent]}).json()["accepted"] == 1
    items = [
        sent | {"dimensions": {"level": "a"}},
        {"mode": "solo", "player_id": "p-2", "score": 5, "dimensions": {"level": "b"}},
    ]
    answer = api("POST", BATCH, credential=key, json={"scores": items}).json()
    assert [error["index"] for error in answer["errors"]] == [0]
    assert "scopes_left_out" not in answer
    assert _values() == ["b"]


def test_a_transaction_that_is_rolled_back_takes_no_room(
    api: ApiClient, solo: Mode, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Mode.objects.update(dimension_values=1)

    def fail(*_: object) -> None:
        raise RuntimeError("after the values were written")

    with monkeypatch.context() as broken:
        broken.setattr(commit, "_streams", fail)
        assert _send(api, key, "a", player_id="p-1").status_code >= 500
    assert _values() == []
    assert _left_out(_send(api, key, "b", player_id="p-1")) == []
    assert _left_out(_send(api, key, "a", player_id="p-1")) == ["level:a"]


def test_the_same_attempt_stays_the_same_also_once_there_is_room(api: ApiClient, solo: Mode, key: str) -> None:
    player, attempt = _token(solo, "p-1"), str(uuid4())
    assert _left_out(_send(api, player, "z0", attempt_id=attempt)) == ["level:z0"]
    assert _left_out(_send(api, key, "z0", player_id="p-2")) == []
    again = _send(api, player, "z0", attempt_id=attempt)
    assert (again.status_code, again.json()["duplicate"], _left_out(again)) == (200, True, ["level:z0"])
    item = {"mode": "solo", "player_id": "p-1", "score": 5, "attempt_id": attempt, "dimensions": {"level": "z0"}}
    batch = api("POST", BATCH, credential=key, json={"scores": [item, item]}).json()
    assert (batch["duplicates"], batch["errors"]) == (2, [])
    assert batch["scopes_left_out"] == [{"index": index, "scopes": ["level:z0"]} for index in (0, 1)]
    assert told(_send(api, player, "1", attempt_id=attempt)) == (409, "attempt_conflict")
    plain = api("POST", f"{SOLO}/scores", credential=player, json={"score": 5, "attempt_id": attempt})
    assert told(plain) == (409, "attempt_conflict")
    kept = api.get(f"/v1/games/arena/players/p-1/attempts/{attempt}", credential=key).json()
    assert (kept["dimensions"], kept["scopes_left_out"]) == ({"level": "z0"}, ["level:z0"])
    drain(solo)
    assert _board(api, "level:z0") == ["p-2"]


def test_boards_made_again_from_the_log_leave_out_the_same(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(dimension_values=1)
    _send(api, _token(solo, "p-1"), "1")
    _send(api, key, "1", player_id="p-2")
    _send(api, key, "2", player_id="p-3")
    drain(solo)
    Mode.objects.update(dimension_values=5, new_values="anyone")
    shown = {"global": ["p-1", "p-2", "p-3"], "level:1": ["p-2"], "level:2": [], "region:eu": ["p-1"]}
    assert {scope: _board(api, scope) for scope in shown} == shown
    standings_retell(mode=solo)
    drain(solo)
    mode_rebuild(mode=solo, now=timezone.now())
    assert {scope: _board(api, scope) for scope in shown} == shown
    assert not reconcile_all(now=timezone.now()).differing
    assert not Outbox.objects.exists()
    assert not Case.objects.exists()


def test_a_rollback_and_a_verifier_see_what_was_submitted(api: ApiClient, solo: Mode, key: str) -> None:
    token, attempt = _token(solo, "p-1"), str(uuid4())
    assert _left_out(_send(api, token, "z0", attempt_id=attempt)) == ["level:z0"]
    assert attempt_find(player=Player.objects.get(player_id="p-1"), attempt_id=attempt).dimensions == {"level": "z0"}
    since = (timezone.now() - timedelta(days=1)).isoformat()
    body = {"mode": "solo", "rollback": {"since": since, "predicate": {"level": "z0"}}}
    assert api("POST", "/v1/games/arena/rollbacks/preview", credential=key, json=body).json()["attempts"] == 1


def test_a_batch_says_which_of_its_scores_leave_out_what(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(dimension_values=2)
    items = [
        {"mode": "solo", "player_id": f"p-{number}", "score": 1, "dimensions": {"level": level}}
        for number, level in enumerate(("a", "b", "c", "a", "c", "d"))
    ]
    answer = api("POST", BATCH, credential=key, json={"scores": items}).json()
    assert (answer["accepted"], answer["errors"]) == (6, [])
    left_out = {item["index"]: item["scopes"] for item in answer["scopes_left_out"]}
    assert left_out == {2: ["level:c"], 4: ["level:c"], 5: ["level:d"]}


# --- declared values -----------------------------------------------------------------------------------------------


def test_a_dimension_with_declared_values_takes_only_these(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(values={"level": ["1", "2"]}, new_values="anyone")
    for credential, whose in ((key, {"player_id": "p-1"}), (_token(solo, "p-2"), {})):
        assert _left_out(_send(api, credential, "1", **whose)) == []
        refused = _send(api, credential, "3", **whose)
        assert told(refused) == (400, "invalid_request")
        assert "not one of the values that the mode declares" in refused.json()["detail"]
    assert _values() == ["1"]


def test_declaring_values_frees_a_dimension_that_was_used_up(api: ApiClient, solo: Mode, key: str) -> None:
    for level in "abcd":
        _send(api, key, level, player_id="p-1")
    Mode.objects.update(values={"level": ["1"]})
    assert _left_out(_send(api, _token(solo, "p-2"), "1")) == []
    Mode.objects.update(values={})
    _as_another_process()
    assert _left_out(_send(api, _token(solo, "p-2"), "1")) == [], "it has a board, and stays known"


def test_an_attempt_is_a_duplicate_also_when_its_value_is_declared_no_more(
    api: ApiClient, solo: Mode, key: str
) -> None:
    attempt = str(uuid4())
    assert _send(api, key, "1", player_id="p-1", attempt_id=attempt).status_code == 202
    Mode.objects.update(values={"level": ["2"]})
    again = _send(api, key, "1", player_id="p-1", attempt_id=attempt)
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert told(_send(api, key, "1", player_id="p-1")) == (400, "invalid_request")


def test_values_are_declared_through_the_api_and_can_change_later(api: ApiClient, solo: Mode, key: str) -> None:
    _send(api, key, "9", player_id="p-1")
    for rules in ({"values": {"level": ["1", "2"]}, "new_values": "anyone"}, {"values": {}, "new_values": "keys"}):
        assert api.put(SOLO, credential=key, json={**RULES, **rules}).status_code == 200
        state = api.get(SOLO).json()
        assert {name: state[name] for name in rules} == rules


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"country": ["DE"]}, "values.country"),
        ({"region": ["eu"]}, "values.region"),
        ({"level": []}, "values.level"),
        ({"level": ["1", "1"]}, "values.level"),
        ({"level": ["a b"]}, "values.level"),
        ({"level": ["1", "2", "3", "4"]}, "values.level"),
        ({"Le vel": ["1"]}, "values.Le vel"),
        ({"guild": ["1"]}, "values.guild"),
        ({"level": [1]}, "values[...][0]"),
        ({"level": "1"}, "values[...]"),
        ({"level": ["x" * 65]}, "values[...][0]"),
        ({"level": ["1"] * 2001}, "values[...]"),
        ({f"d{number}": ["1"] for number in range(9)}, "values"),
        (["1"], "values"),
    ],
)
def test_values_that_cannot_be_declared_are_refused_by_name(
    api: ApiClient, solo: Mode, key: str, values: Any, named: str
) -> None:
    refused = api.put(SOLO, credential=key, json={**RULES, "values": values})
    assert told(refused) == (400, "invalid_request")
    assert list(refused.json()["errors"]) == [named]
    assert api.get(SOLO).json()["values"] == {}


def test_values_of_all_dimensions_together_are_bounded(api: ApiClient, solo: Mode, key: str) -> None:
    values = {name: [str(number) for number in range(1001)] for name in ("level", "map")}
    rules = {**RULES, "dimensions": ["level", "map"], "dimension_values": 10_000}
    refused = api.put(SOLO, credential=key, json={**rules, "values": values})
    assert list(refused.json()["errors"]) == ["values"]


def test_a_flood_of_values_without_room_takes_no_lock(solo: Mode) -> None:
    Mode.objects.update(dimension_values=1)
    solo.refresh_from_db()
    game, caller = record_of(solo.game), Caller(Kind.KEY, game="arena")

    def submit(level: str) -> list[str]:
        sent = Submission(player_id="p-1", score=Exact(1), dimensions={"level": level})
        (outcome,) = scores_submit(game=game, caller=caller, items=[Item(solo, sent)])
        assert isinstance(outcome, Outcome)
        return outcome.logged.scopes_left_out

    assert submit("a") == []
    with connection.execute_wrapper(_refuse_locks):
        assert submit("b") == ["level:b"]
        assert submit("a") == []


def _refuse_locks(execute: Any, statement: str, *rest: Any) -> Any:
    assert "pg_advisory_xact_lock(" not in statement
    return execute(statement, *rest)
