"""The audit in the admin: read, searched, exported by those who may; changed by nobody."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anticheat import audit
from anticheat.models import AuditEntry
from config.audit import Who
from players.models import ApiKey
from tests.factories import make_game, make_key, make_player

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/anticheat/auditentry/"


def _sign_in(client: Client, *permissions: str) -> User:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return user


def _shown(client: Client, query: str = "") -> list[str]:
    answer = client.get(LIST + query)
    assert answer.status_code == 200, answer
    return [entry.verb for entry in answer.context["cl"].result_list]


def _acts() -> dict[str, Any]:
    game = make_game("arena")
    player = make_player(game)
    make_key(game)
    key = ApiKey.objects.get()
    audit.record(verb="player.ban", who=Who("key", key=key.pk, address="192.0.2.7"), about=player, why="speed hack")
    audit.record(
        verb="mode.change", who=Who("command", command="apply_config", request_id="r-17"), after={"a": {"b": 1}}
    )
    return {"player": player, "key": key}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("player.", ["player.ban"]),
        ("mode.change", ["mode.change"]),
        ("192.0.2.7", ["player.ban"]),
        ("r-17", ["mode.change"]),
        ("rung_{key.prefix}", ["player.ban"]),
        ("{key.prefix}", ["player.ban"]),
        ("players.player:{player.pk}", ["player.ban"]),
        ("viewer", ["user.sign_in"]),
        ("nothing of the kind", []),
        ("99999999999999999999", []),
    ],
)
def test_an_entry_is_found_by_what_is_known_of_it(client: Client, term: str, found: list[str]) -> None:
    known = _acts()
    _sign_in(client, "view_auditentry")
    assert _shown(client, f"?q={term.format(**known)}") == found


def test_entries_are_found_by_the_players_number(client: Client) -> None:
    player = _acts()["player"]
    _sign_in(client, "view_auditentry")
    assert "player.ban" in _shown(client, f"?q={player.pk}")


def test_entries_are_filtered_by_what_and_game_and_time(client: Client) -> None:
    _acts()
    _sign_in(client, "view_auditentry")
    assert _shown(client) == ["user.sign_in", "mode.change", "player.ban", "key.add"], "newest first"
    assert _shown(client, "?verb=mode.change") == ["mode.change"]
    assert _shown(client, "?game=arena") == ["player.ban", "key.add"]
    assert _shown(client, "?game=other") == []
    assert _shown(client, "?at__lt=2001-01-01T00:00:00%2B00:00") == []
    assert _shown(client, "?by__exact=command") == ["mode.change"]


def test_the_list_costs_the_same_however_many_entries_there_are(client: Client) -> None:
    _acts()
    _sign_in(client, "view_auditentry")
    _shown(client)
    with CaptureQueriesContext(
        connection,
    ) as few:
        _shown(client)
    for _ in range(30):
        audit.record(verb="player.ban", who=Who("operator", user=User.objects.get().pk))
    with CaptureQueriesContext(connection) as many:
        assert len(_shown(client)) == 34
    assert len(many) == len(few)
    counts = [query["sql"] for query in many if "COUNT(" in query["sql"] and "anticheat_auditentry" in query["sql"]]
    assert all("LIMIT" in sql for sql in counts), "nothing counts the whole table"


def test_an_entry_shows_what_was_before_and_after(client: Client) -> None:
    _acts()
    _sign_in(client, "view_auditentry")
    entry = AuditEntry.objects.get(verb="mode.change")
    page = client.get(f"{LIST}{entry.pk}/change/").content.decode()
    assert "&quot;b&quot;: 1" in page
    assert bytes(entry.hash or b"").hex() in page
    assert "apply_config" in page


@pytest.mark.parametrize("superuser", [True, False])
def test_nobody_changes_the_audit_by_its_pages(client: Client, superuser: bool) -> None:
    _acts()
    user = _sign_in(client, "view_auditentry", "export_auditentry")
    User.objects.filter(pk=user.pk).update(is_superuser=superuser)
    entry = AuditEntry.objects.get(verb="mode.change")
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}add/", {"verb": "x"}).status_code == 403
    assert client.post(f"{LIST}{entry.pk}/change/", {"why": "x"}).status_code == 403
    assert client.post(f"{LIST}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    form = {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"}
    client.post(LIST, form)
    assert AuditEntry.objects.filter(pk=entry.pk, why="").exists()


def test_who_may_not_look_sees_nothing(client: Client) -> None:
    _acts()
    _sign_in(client)
    assert client.get(LIST).status_code == 403
    assert client.get(f"{LIST}export/").status_code == 403


def test_an_export_is_for_those_who_may_and_is_an_act_itself(client: Client) -> None:
    _acts()
    user = _sign_in(client, "view_auditentry")
    assert "Export these" not in client.get(LIST).content.decode()
    assert client.get(f"{LIST}export/").status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="export_auditentry"))
    assert f"{LIST}export/?verb=player.ban" in client.get(f"{LIST}?verb=player.ban").content.decode()
    answer = client.get(f"{LIST}export/?verb=player.ban")
    rows = [json.loads(line) for line in answer.getvalue().decode().splitlines()]  # type: ignore[attr-defined]
    assert [(row["verb"], row["why"]) for row in rows] == [("player.ban", "speed hack")]
    taken = AuditEntry.objects.latest("seq")
    assert (taken.verb, taken.user, taken.after) == ("audit.export", user.pk, {"verb": "player.ban"})
