"""Pace: who submits too often is told when to come again; nothing is logged, and what was taken before stays taken."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import connection
from pytest_django import Settings

from anticheat import pace
from leaderboards.models import Mode
from players.models import Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_token

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
SCORES = "/v1/games/arena/scores"
NEVER = {"per_second": 0.001}  # within a test


@pytest.fixture(autouse=True)
def _asked_at_once() -> Iterator[None]:
    yield
    pace._asked_again_at = 0.0  # noqa: SLF001


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000, submit="open")


def _tune(**kinds: dict[str, Any]) -> None:
    unlimited = {"per_second": 0, "burst": 1}
    tuning = {"player": unlimited, "address": unlimited, "device": unlimited} | kinds
    Mode.objects.update(checks={"pace": tuning})


def _send(api: ApiClient, mode: Mode, player: str = "p-1", **body: Any) -> httpx.Response:
    return api("POST", f"{SOLO}/scores", credential=make_token(mode.game, player), json={"score": 5, **body})


def _statuses(*answers: httpx.Response) -> list[int]:
    return [one.status_code for one in answers]


def test_a_player_who_submits_too_often_is_told_when_to_come_again(api: ApiClient, solo: Mode) -> None:
    _tune(player={"per_second": 2, "burst": 2})
    assert _statuses(_send(api, solo), _send(api, solo)) == [202, 202]
    held = next(one for one in (_send(api, solo) for _ in range(50)) if one.status_code != 202)  # a slow one is let in
    assert told(held) == (429, "rate_limited")
    assert held.headers["retry-after"] == str(held.json()["retry_after"]) == "1"
    time.sleep(held.json()["retry_after"])
    assert _send(api, solo).status_code == 202


def test_who_is_held_up_leaves_nothing_and_uses_up_no_id(api: ApiClient, solo: Mode) -> None:
    _tune(address={"burst": 1, **NEVER})
    assert _send(api, solo).status_code == 202
    attempt = str(uuid4())
    assert told(_send(api, solo, "p-2", attempt_id=attempt)) == (429, "rate_limited")
    assert not Player.objects.filter(player_id="p-2").exists()
    _tune()
    assert _send(api, solo, "p-2", attempt_id=attempt).status_code == 202


def test_what_was_taken_before_is_told_again_however_often_it_is_asked(api: ApiClient, solo: Mode) -> None:
    _tune(player={"burst": 1, **NEVER})
    attempt = str(uuid4())
    assert _send(api, solo, attempt_id=attempt).status_code == 202
    again = [_send(api, solo, attempt_id=attempt) for _ in range(3)]
    assert _statuses(*again) == [200, 200, 200]
    assert all(one.json()["duplicate"] for one in again)
    assert told(_send(api, solo, attempt_id=attempt, score=6)) == (429, "rate_limited")
    assert told(_send(api, solo)) == (429, "rate_limited")


@pytest.mark.parametrize("kind", ["address", "device"])
def test_players_behind_one_address_or_device_share_its_pace(api: ApiClient, solo: Mode, kind: str) -> None:
    _tune(**{kind: {"burst": 2, **NEVER}})
    told_ = [_send(api, solo, f"p-{n}", client={"device": "phone", "address": f"203.0.113.{n}"}) for n in range(3)]
    assert _statuses(*told_) == [202, 202, 429], "what a player says of its own address is not believed"


def test_modes_and_players_have_a_pace_each(api: ApiClient, solo: Mode) -> None:
    make_mode(solo.game, "duel", submit="open")
    _tune(player={"burst": 1, **NEVER})
    assert _statuses(_send(api, solo), _send(api, solo, "p-2"), _send(api, solo)) == [202, 202, 429]
    sent = {"credential": make_token(solo.game, "p-1"), "json": {"score": 5}}
    assert api("POST", "/v1/games/arena/modes/duel/scores", **sent).status_code == 202


def test_a_check_that_is_switched_off_holds_up_nobody(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(checks={"pace": {"on": False, "player": {"burst": 1, **NEVER}}})
    assert _statuses(*(_send(api, solo) for _ in range(3))) == [202] * 3


def _batch(api: ApiClient, key: str, *items: dict[str, Any]) -> httpx.Response:
    scores = [{"mode": "solo", "player_id": "p-1", "score": 5, **item} for item in items]
    return api("POST", SCORES, credential=key, json={"scores": scores})


def test_the_games_own_servers_are_held_up_only_for_whom_they_name(api: ApiClient, solo: Mode) -> None:
    _tune(player={"burst": 1, **NEVER}, address={"burst": 2, **NEVER})
    key = make_key(solo.game)
    assert _batch(api, key, *[{}] * 5).json()["accepted"] == 5, "who speaks for nobody is not counted"
    client = {"client": {"address": "203.0.113.9"}}
    sent = [{"player_id": f"p-{n}", **client} for n in (1, 1, 2, 3)]
    answer = _batch(api, key, *sent)
    assert answer.status_code == 202
    assert [(one["index"], one["code"]) for one in answer.json()["errors"]] == [
        (1, "rate_limited"),
        (3, "rate_limited"),
    ]
    assert all(one["retry_after"] > 0 for one in answer.json()["errors"])
    again = _batch(api, key, *[{**one, "player_id": "p-4"} for one in sent[:1]], {"client": {"platform": "ios"}})
    assert [one["index"] for one in again.json()["errors"]] == [0]


def test_a_key_has_a_pace_where_an_operator_sets_one_and_a_batch_counts_once(
    api: ApiClient, solo: Mode, settings: Settings
) -> None:
    settings.KEY_SUBMITS_PER_SECOND, settings.KEY_SUBMITS_AT_ONCE = 0.001, 3
    key, other = make_key(solo.game), make_key(solo.game)
    attempt = str(uuid4())
    assert _batch(api, key, *[{}] * 50, {"attempt_id": attempt}).json()["accepted"] == 51
    one = {"credential": key, "json": {"score": 5, "player_id": "p-1"}}
    assert _statuses(*(api("POST", f"{SOLO}/scores", **one) for _ in range(3))) == [202, 202, 429]
    refused = _batch(api, key, {}, {}, {"attempt_id": attempt}).json()
    assert (refused["accepted"], refused["duplicates"], refused["rejected"]) == (0, 1, 2)
    assert {one["code"] for one in refused["errors"]} == {"rate_limited"}
    assert _batch(api, other, {}).json()["accepted"] == 1


def test_without_the_cache_server_scores_are_taken_all_the_same(api: ApiClient, solo: Mode, settings: Settings) -> None:
    _tune(player={"burst": 1, **NEVER})
    token = make_token(solo.game, "p-1")
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    sent = {"credential": token, "json": {"score": 5}}
    assert _statuses(*(api("POST", f"{SOLO}/scores", **sent) for _ in range(3))) == [202] * 3


@pytest.mark.parametrize("fast", [True, False], ids=["fast lane", "Django"])
def test_the_address_is_the_one_that_our_own_proxy_heard(solo: Mode, settings: Settings, fast: bool) -> None:
    _tune(address={"burst": 1, **NEVER})
    settings.PROXIES, settings.FAST_LANE = 1, fast
    door, codes = ApiClient(), []
    for told_, heard in (("6.6.6.6", "203.0.113.1"), ("6.6.6.7", "203.0.113.1"), ("6.6.6.6", "203.0.113.2")):
        sent: dict[str, Any] = {"credential": make_token(solo.game, "p-1"), "json": {"score": 5}}
        headers = {"X-Forwarded-For": f"{told_}, {heard}"}
        codes.append(door("POST", f"{SOLO}/scores", headers=headers, **sent).status_code)
    assert codes == [202, 429, 202]
    with connection.cursor() as cursor:
        cursor.execute("SELECT client->>'address' FROM score_attempts WHERE mode_id = %s ORDER BY id", [solo.pk])
        assert [row[0] for row in cursor.fetchall()] == ["203.0.113.1", "203.0.113.2"]


@pytest.mark.parametrize("fast", [True, False], ids=["fast lane", "Django"])
def test_both_doors_say_the_same(solo: Mode, settings: Settings, fast: bool) -> None:
    _tune(player={"burst": 1, **NEVER})
    settings.FAST_LANE = fast
    door = ApiClient()
    assert _send(door, solo).status_code == 202
    held = _send(door, solo)
    assert told(held) == (429, "rate_limited")
    assert held.json()["detail"] == "That was too many scores in a short time; wait a little."
    assert 0 < int(held.headers["retry-after"]) <= 1000
