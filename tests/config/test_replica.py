"""What may be a second behind is read from the replica where there is one; where it cannot answer, from the primary."""

import io
import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test.utils import CaptureQueriesContext
from prometheus_client import REGISTRY
from pytest_django import Settings

from config import env, heartbeat
from config import replica as reads
from leaderboards.models import Mode
from players.models import Ban, Player
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.replica import Replica, replica

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("a replica")]
PLAYER = "/v1/games/arena/players/p-1"
ATTEMPTS = f"{PLAYER}/attempts"


@pytest.fixture(scope="module")
def _running(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    with replica(tmp_path_factory.mktemp("replica")) as running:
        yield running


@pytest.fixture
def beside(
    _running: Replica, transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Replica]:
    # a test may only connect to databases that were there before it
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", _connected)
    named = f"{_running.url}/{connection.settings_dict['NAME']}"
    _added(named, settings)
    yield _running
    _removed()


def _connected(own: BaseDatabaseWrapper) -> None:
    if own.connection is None:
        with own.wrap_database_errors:
            own.connect()


def _added(url: str, settings: Settings) -> None:
    settings.DOCTOR_CHECKS = {"replica": "config.replica.replica_check"}
    connections.settings["replica"] = connection.settings_dict | env.database(url)
    reads.forget()


_LONG = 60.0  # seconds: others write to the same server all the time, so that no replica is quite there


def _removed() -> None:
    connections["replica"].close()
    del connections["replica"], connections.settings["replica"]
    reads.forget()


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000)


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game)


def _send(api: ApiClient, key: str, **fields: Any) -> Any:
    body = {"player_id": "p-1", "score": 7, **fields}
    answer = api("POST", "/v1/games/arena/modes/solo/scores", credential=key, json=body)
    assert answer.status_code < 300, answer.text
    return answer.json()


def _listed(api: ApiClient, key: str) -> list[str]:
    answer = api.get(ATTEMPTS, credential=key)
    assert answer.status_code == 200, answer.text
    return [one["attempt_id"] for one in answer.json()["attempts"]]


def _passed_over(why: str) -> float:
    return REGISTRY.get_sample_value("rung_replica_passed_over_total", {"why": why}) or 0


def _asked(ask: Any) -> tuple[list[str], list[str]]:
    """Statements to the primary about attempts or bans, and all to the replica."""
    with CaptureQueriesContext(connection) as primary, CaptureQueriesContext(connections["replica"]) as other:
        ask()
    history = [
        one["sql"] for one in primary if "FROM score_attempts" in one["sql"] or 'FROM "players_ban"' in one["sql"]
    ]
    return history, [one["sql"] for one in other]


def test_a_players_attempts_and_export_are_read_from_the_replica(
    beside: Replica, api: ApiClient, key: str, solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    sent = _send(api, key)["attempt_id"]
    Ban.objects.create(player=Player.objects.get(player_id="p-1"), kind=Ban.Kind.BAN, reason="hm")
    _listed(api, key)
    beside.catch_up()
    for ask in (
        lambda: _listed(api, key) == [sent] or pytest.fail("not listed"),
        lambda: (
            api.get(f"{PLAYER}/export", credential=key).json()["bans"][0]["reason"] == "hm" or pytest.fail("no ban")
        ),
    ):
        history, replicas = _asked(ask)
        assert (history, len(replicas)) == ([], 2), "one to see how far it is, one to read"


def test_one_attempt_and_all_of_the_write_path_are_the_primarys(
    beside: Replica, api: ApiClient, key: str, solo: Mode
) -> None:
    attempt = str(uuid4())

    def write_and_see() -> None:
        assert not _send(api, key, attempt_id=attempt)["duplicate"]
        assert _send(api, key, attempt_id=attempt)["duplicate"]
        drain(solo)
        assert api.get(f"{ATTEMPTS}/{attempt}", credential=key).json()["state"] == "accepted"
        assert api.get(PLAYER, credential=key).status_code == 200
        board = api.get("/v1/games/arena/modes/solo/leaderboards/alltime?include=metadata", credential=key)
        assert board.json()["total"] == 1

    with beside.paused():
        assert _asked(write_and_see)[1] == []


def test_a_replica_that_is_more_than_a_second_behind_is_passed_over(
    beside: Replica, api: ApiClient, key: str, solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    first = _send(api, key)["attempt_id"]
    assert _listed(api, key) == [first]
    beside.catch_up()
    assert _listed(api, key) == [first]
    before = _passed_over("behind")
    with beside.paused():
        second = _send(api, key)["attempt_id"]
        assert _listed(api, key) == [first], "within the second the replica is near enough"
        monkeypatch.setattr(reads, "BEHIND", 0.0)
        assert _listed(api, key) == [second, first]
        assert _passed_over("behind") == before + 1
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    beside.catch_up()
    history, _ = _asked(lambda: _listed(api, key))
    assert history == [], "it is asked again once it has caught up"


def test_a_replica_that_goes_away_is_not_missed_and_asked_again_when_it_is_back(
    beside: Replica, api: ApiClient, key: str, solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = _send(api, key)["attempt_id"]
    beside.catch_up()
    assert _listed(api, key) == [sent]
    before = _passed_over("away")
    beside.running.kill()
    for _ in range(3):
        assert _listed(api, key) == [sent]
    assert _passed_over("away") == before + 1, "it is left alone for a while"
    beside.start()
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    beside.catch_up()
    monkeypatch.setattr(reads._known, "rests_until", 0.0)  # noqa: SLF001
    assert _asked(lambda: _listed(api, key))[0] == []


def test_a_server_that_is_no_replica_of_ours_is_not_believed(
    beside: Replica, api: ApiClient, key: str, solo: Mode, settings: Settings
) -> None:
    sent = _send(api, key)["attempt_id"]
    _removed()
    _added(env.text("DATABASE_URL"), settings)  # a primary, and an empty database
    assert _listed(api, key) == [sent]
    assert "names no streaming replica" in _doctor(wrong=True)


def test_doctor_says_how_far_behind_it_is(beside: Replica, solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    assert "ok    replica      it shows all that the primary had " in _doctor()
    monkeypatch.setattr(reads, "BEHIND", 0.1)
    with beside.paused():
        make_game("later")
        connection.cursor().execute("SELECT pg_switch_wal()")  # what is committed is written out at once
        assert re.search(r"bytes behind, (at 20|with no transaction since it was started)", _doctor(wrong=True))
    connections["replica"].close()
    beside.running.kill()
    assert "refused" in _doctor(wrong=True)
    beside.start()
    monkeypatch.setattr(reads, "BEHIND", _LONG)
    assert "ok    replica" in _doctor()


def _doctor(*, wrong: bool = False) -> str:
    heartbeat.note("worker")
    heartbeat.note("beat")
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"^Not well: replica\.$") if wrong else nullcontext():
        call_command("doctor", stdout=out)
    return out.getvalue()
