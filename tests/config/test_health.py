"""/livez says that the process lives, /readyz what is down, by name and in words, without a secret."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.db.utils import ConnectionHandler
from django.utils import timezone
from pytest_django import Settings

from config import env, health, heartbeat, valkey
from tests.client import ApiClient

DEAD = "127.0.0.1:1"
ALL = {"database", "boards", "broker", "channels", "cache", "workers", "beat"}


def _with_signs_of_life() -> None:
    heartbeat.note("worker")
    heartbeat.note("beat")


def test_all_is_well_when_everything_answers(api: ApiClient) -> None:
    _with_signs_of_life()
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    checks = answer.json()["checks"]
    assert set(checks) == ALL
    assert all(check["ok"] for check in checks.values())
    assert checks["database"]["detail"].startswith("PostgreSQL 1")
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("setting", "name"),
    [("VALKEY_URL", "boards"), ("BROKER_URL", "broker"), ("CHANNELS_URL", "channels"), ("CACHE_URL", "cache")],
)
def test_a_store_that_is_down_is_named_with_what_is_wrong_and_no_password(
    api: ApiClient, settings: Settings, setting: str, name: str
) -> None:
    _with_signs_of_life()
    setattr(settings, setting, f"redis://rung:hunter2@{DEAD}/0")
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded"), "scores are still taken"
    wrong = {name for name, check in answer.json()["checks"].items() if not check["ok"]}
    assert wrong == ({name, "workers", "beat"} if name == "cache" else {name})
    assert answer.json()["checks"][name]["detail"] == "It does not answer: the connection is refused."
    for secret in ("hunter2", "127.0.0.1", ":1", "rung"):
        assert secret not in answer.text.replace('":1', "")
    assert api.get("/livez").status_code == 200


def test_a_wrong_password_is_told_from_a_server_that_is_away(api: ApiClient, settings: Settings) -> None:
    settings.BROKER_URL = settings.BROKER_URL.replace("://:", "://nobody:wrong-")
    detail = api.get("/readyz").json()["checks"]["broker"]["detail"]
    assert "password" in detail.lower()
    assert not {"wrong-", "nobody", "127.0.0.1"} & set(re.split(r"[^\w.-]", detail))


def test_doctor_names_the_address_that_the_probe_keeps_to_itself(api: ApiClient, settings: Settings) -> None:
    settings.CHANNELS_URL = f"redis://:hunter2@{DEAD}/0"
    assert DEAD not in api.get("/readyz").text
    said = health.readiness().checks["channels"].detail
    assert DEAD in said
    assert "hunter2" not in said


def test_what_a_library_says_in_words_that_nobody_foresaw_is_not_passed_on(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(url: str) -> str:
        raise ValueError("odd: ops@10.9.8.7 has no fuel")

    monkeypatch.setattr(valkey, "ping", fail)
    answer = api.get("/readyz")
    assert answer.json()["checks"]["broker"]["detail"] == "It does not answer."
    assert "10.9.8.7" not in answer.text
    assert "10.9.8.7" in health.readiness().checks["broker"].detail


@pytest.mark.django_db
def test_a_database_that_is_down_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_signs_of_life()
    dead = ConnectionHandler({"default": env.database(f"postgresql://rung:hunter2@{DEAD}/rung")})
    monkeypatch.setattr(health, "connection", dead["default"])
    state = health.readiness()
    assert state.status == "down"
    assert {name for name, check in state.checks.items() if not check.ok} == {"database"}
    assert "refused" in state.checks["database"].detail
    assert "hunter2" not in state.checks["database"].detail
    assert state.checks["database"].public == "It does not answer: the connection is refused."


def test_silent_workers_and_beat_degrade_but_do_not_stop_traffic(api: ApiClient) -> None:
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["checks"]["workers"]["detail"] == "A worker has not been seen yet. Is it running?"
    heartbeat.note("beat")
    answer = api.get("/readyz")
    assert {name for name, check in answer.json()["checks"].items() if not check["ok"]} == {"workers"}


def test_a_worker_that_falls_silent_is_noticed(api: ApiClient) -> None:
    _with_signs_of_life()
    with time_machine.travel(timezone.now() + timedelta(minutes=2), tick=True):
        answer = api.get("/readyz").json()
    assert answer["status"] == "degraded"
    assert re.search(r"was last seen 12\d s ago", answer["checks"]["workers"]["detail"])


def test_probes_answer_whatever_host_is_asked_for(api: ApiClient) -> None:
    for path in ("/livez", "/readyz", "/metrics"):
        assert api.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert api.get("/v1/games", headers={"Host": "10.1.2.3:8000"}).status_code == 400
