"""The admin answers addresses and forms that make no sense."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError
from django.test import Client
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from players.models import Player
from tests.factories import make_game, make_player

pytestmark = pytest.mark.django_db
TASKS = "/admin/django_celery_beat/periodictask/"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/admin/autocomplete/?app_label=players&model_name=ban&field_name=player&term=%00", 400),
        ("/admin/players/player/?q=%00", 400),
        ("/admin/players/ban/add/?player=abc", 200),
        ("/admin/players/ban/add/?player=99999999999999999999", 200),
        ("/admin/players/ban/add/?starts_at=zzz", 200),
        # a form that the address fills in with what its fields cannot read
        ("/admin/players/player/add/?game=x", 200),
        ("/admin/players/player/add/?game=99999999999999999999", 200),
        ("/admin/anticheat/ownplayer/add/?user=x&player=y", 200),
        ("/admin/players/apikey/add/?expires_at=x", 200),
        (f"{TASKS}add/?start_time=x&expires=x", 200),
        # lists narrowed by what no query can be made of
        ("/admin/anticheat/auditentry/export/?format=csv", 400),
        ("/admin/anticheat/auditentry/export/?seq=x", 400),
        ("/admin/anticheat/auditentry/?verb__range=abc", 302),
        (f"{TASKS}?args__range=3", 302),
        (f"{TASKS}?id__range=1", 302),
        # `_to_field` without a name
        ("/admin/players/game/1/change/?_to_field=", 302),
        ("/admin/players/game/1/delete/?_to_field=", 403),
        ("/admin/players/game/1/change/?_to_field=nothing", 400),
    ],
)
def test_an_operators_odd_address_is_no_failure(operator: Client, address: str, status: int) -> None:
    assert operator.get(address).status_code == status


def test_an_address_still_fills_in_what_a_form_can_read(operator: Client) -> None:
    game = make_game("arena")
    answer = operator.get(f"/admin/players/player/add/?game={game.pk}&display_name=Nova&nothing=1")
    assert answer.context["adminform"].form.initial == {"game": str(game.pk), "display_name": "Nova"}


@pytest.mark.parametrize("model", ["auth/group", "players/player", "django_celery_beat/crontabschedule"])
def test_an_action_on_what_is_no_row_is_refused(operator: Client, model: str) -> None:
    chosen = {"action": "delete_selected", "_selected_action": ["1", "x"]}
    assert operator.post(f"/admin/{model}/", chosen).status_code == 400


def test_a_refused_form_is_shown_again_whatever_it_named(operator: Client) -> None:
    answer = operator.post("/admin/anticheat/ownplayer/add/", {"user": "x", "player": "9" * 30})
    assert set(answer.context["adminform"].form.errors) == {"user", "player"}


def test_what_the_database_refuses_at_the_last_moment_has_changed_meanwhile(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(*_: Any, **__: Any) -> None:
        raise IntegrityError("still referenced")

    monkeypatch.setattr(Group, "save", save)
    answer = operator.post("/admin/auth/group/add/", {"name": "new"})
    assert answer.status_code == 409
    assert "Changed meanwhile" in answer.content.decode()


def test_a_defect_in_a_list_that_nobody_narrowed_is_not_hidden(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise ValueError("a defect")

    monkeypatch.setattr("players.admin.PlayerAdmin.get_queryset", broken)
    with pytest.raises(ValueError, match="a defect"):
        operator.get("/admin/players/player/")


def test_a_rows_own_actions_still_work(operator: Client) -> None:
    player = make_player(make_game())
    operator.post("/admin/players/player/", {"action": "revoke_tokens", "_selected_action": [player.pk]})
    assert Player.objects.get().tokens_valid_from is not None


def _task(**fields: str) -> dict[str, str]:
    return {"name": "mine", "args": "[]", "kwargs": "{}", "headers": "{}", "description": ""} | fields


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task", "x" * 300),
        ("args", "5"),
        ("args", "["),
        ("args", "[" * 100_000),
        ("kwargs", "[]"),
        ("headers", "7"),
    ],
)
def test_a_task_that_cannot_be_is_refused_by_its_form(operator: Client, field: str, value: str) -> None:
    every = IntervalSchedule.objects.create(every=1, period="hours")
    sent = _task(task="config.tasks.heartbeat", interval=str(every.pk)) | {field: value}
    answer = operator.post(f"{TASKS}add/", sent)
    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert not PeriodicTask.objects.exists()


def test_a_task_that_does_not_take_its_arguments_is_not_run(operator: Client) -> None:
    every = IntervalSchedule.objects.create(every=1, period="hours")
    task = PeriodicTask.objects.create(
        name="mine", task="config.tasks.heartbeat", interval=every, args=json.dumps([1, 2, 3])
    )
    answer = operator.post(TASKS, {"action": "run_tasks", "_selected_action": [task.pk]}, follow=True)
    assert answer.status_code == 200
    assert "Not run: " in answer.content.decode()


@pytest.mark.parametrize("day", ["-0", "-1", "0", "99"])
def test_a_crontab_that_celery_cannot_read_is_refused_by_its_form(operator: Client, day: str) -> None:
    inline = {f"periodictask_set-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL", "MIN_NUM", "MAX_NUM")}
    sent = {"minute": "*", "hour": "*", "day_of_month": day, "month_of_year": "*", "day_of_week": "*"}
    answer = operator.post(
        "/admin/django_celery_beat/crontabschedule/add/", sent | inline | {"timezone": "UTC", "_to_field": ""}
    )
    assert answer.status_code == 200
    assert not CrontabSchedule.objects.exists()
