"""Checks are tuned with the mode: in a file, over the API, in the admin; what no check knows is refused there."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from leaderboards.models import Mode
from players.scopes import Scope
from tests.arena import MODE, Arena
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode

pytestmark = pytest.mark.django_db
TUNED: dict[str, Any] = {"jump": {"max": 5000.5, "act": "reject"}, "outlier": {"on": False}, "top": {"k": 10}}
WRONG: list[tuple[Any, str]] = [
    ({"jmup": {"max": 5}}, "checks.jmup"),
    ({"jump": {"maximum": 5}}, "checks.jump"),
    ({"jump": {"max": 0}}, "checks.jump"),
    ({"jump": {"max": True}}, "checks.jump"),
    ({"jump": {"act": "ban"}}, "checks.jump"),
    ({"outlier": {"deviations": 1e300}}, "checks.outlier"),
    ({"top": {"k": 1.5}}, "checks.top"),
    ({"top": {"k": -1}}, "checks.top"),
    ({"token": {"on": False}}, "checks.token"),
]


_ODD: list[Any] = [
    {"timing": {"per_second": float("inf")}},
    {"timing": {"risk": float("nan")}},
    {"timing": {"per_second": float("nan")}},
    {"jump": {"max": 0.4}},
]


@pytest.fixture
def arena(api: ApiClient) -> Arena:
    return Arena(api, MODE)


def test_a_mode_is_tuned_over_the_api_and_the_same_again_changes_nothing(arena: Arena) -> None:
    assert arena.put(checks=TUNED).json()["checks"] == TUNED
    assert Mode.objects.get().checks == TUNED
    assert arena.put(checks=TUNED).status_code == 200
    assert arena.put().json()["checks"] == {}, "what is left out has the default"


def test_how_scores_are_checked_is_told_to_who_may_change_it_only(arena: Arena, api: ApiClient) -> None:
    arena.put(checks=TUNED)
    assert arena.get().json()["checks"] == TUNED
    reader = make_key(arena.game, Scope.READ, Scope.SUBMIT, Scope.MODERATE)
    for answer in (api.get(MODE), api.get(MODE, credential=reader), api.get("/v1/games/arena")):
        assert "checks" not in answer.text
        assert "jump" not in answer.text


@pytest.mark.parametrize(("checks", "field"), WRONG)
def test_what_no_check_knows_is_refused_and_named(arena: Arena, checks: dict[str, Any], field: str) -> None:
    answer = arena.put(checks=checks)
    assert told(answer) == (400, "invalid_request")
    assert list(answer.json()["errors"]) == [field]
    assert not Mode.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        '{"checks": {"jump": {"max": 1e999}}}',
        '{"checks": {"outlier": {"gain": -0.0e1}}}',
        '{"checks": {"timing": {"per_second": 1e400}}}',
        '{"checks": {"timing": {"per_second": 1e999999999}}}',
        '{"checks": {"timing": {"per_second": 1e-999999999}}}',
        '{"checks": {"timing": {"per_second": %s}}}' % ("9" * 5000),
        '{{"checks": {}1{}}}'.format('{"a":' * 900, "}" * 900),
        '{{"checks": {{"a": {}{}}}}}'.format("[" * 900, "]" * 900),
    ],
)
def test_what_json_cannot_keep_is_answered(arena: Arena, body: str) -> None:
    answer = arena.api.put(arena.path, credential=arena.key, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (201, 400)


def test_the_largest_jump_is_no_less_than_the_least_score(arena: Arena) -> None:
    answer = arena.put(checks={"jump": {"max": 0.4}})
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["checks.jump"])
    assert arena.put(checks={"jump": {"max": 0.4}}, decimals=1).status_code == 201


def test_a_file_tunes_the_checks_of_a_mode(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text("[games.arena.modes.solo]\nchecks = { jump = { max = 2.5 }, outlier = { deviations = 7.5 } }\n")
    call_command("apply_config", file)
    assert Mode.objects.get().checks == {"jump": {"max": 2.5}, "outlier": {"deviations": 7.5}}
    file.write_text("[games.arena.modes.solo]\nchecks = { jump = { height = 2 } }\n")
    with pytest.raises(CommandError, match=r"games\.arena\.modes\.solo: checks\.jump: .*height"):
        call_command("apply_config", file)
    assert Mode.objects.get().checks["jump"] == {"max": 2.5}


@pytest.mark.parametrize("checks", [["jump"], {"jump": 5}, {"jump": {"max": float("nan")}}, {"nonsense": {}}, *_ODD])
def test_the_admins_form_is_held_to_the_same(checks: Any) -> None:
    mode = make_mode(make_game("arena"))
    mode.checks = checks
    with pytest.raises(ValidationError) as refused:
        mode.full_clean()
    assert list(refused.value.message_dict) == ["checks"]
    mode.checks = TUNED
    mode.full_clean()
