"""Rollbacks in the admin: said, looked at, done with progress, undone."""

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from anticheat import selections
from anticheat.models import Rollback, Ruling
from anticheat.services.rollbacks import rollbacks_run
from leaderboards import standings
from leaderboards.models import Mode
from players.models import ApiKey
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import make_crowd, make_exploiters
from tests.anticheat.test_rulings import _top
from tests.factories import make_key

pytestmark = pytest.mark.django_db(transaction=True)
ADD = "/admin/anticheat/rollback/add/"


@pytest.fixture
def crowd() -> Mode:
    return make_crowd()


@pytest.fixture
def client() -> Client:
    return signed_in(make_operator("manager"))


def _asked(**fields: Any) -> dict[str, Any]:
    since = datetime.now(UTC) - timedelta(days=1)
    return {"game": "arena", "mode": "solo", "since": f"{since:%Y-%m-%dT%H:%M}", "reason": "An exploit.", **fields}


def _slow(*_: object, **__: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(60)")


def test_a_rollback_is_looked_at_then_done_then_undone(client: Client, crowd: Mode) -> None:
    assert client.get(ADD).status_code == 200
    answer = client.get(ADD, _asked(player_id="nova"))
    outlook = answer.context["outlook"]
    assert (outlook.attempts, outlook.players, outlook.newcomers) == (2, 1, ["p03"])
    assert not Rollback.objects.exists()
    answer = client.post(ADD, _asked(player_id="nova"))
    one = Rollback.objects.get()
    assert answer["Location"] == f"/admin/anticheat/rollback/{one.pk}/change/"
    page = client.get(answer["Location"]).content.decode()
    assert "0 %" in page
    assert 'http-equiv="refresh"' in page
    rollbacks_run(now=datetime.now(UTC))
    page = client.get(answer["Location"]).content.decode()
    assert "100 %" in page
    assert 'http-equiv="refresh"' not in page
    assert _top(crowd)[0] == ("p12", 120)
    client.post(f"/admin/anticheat/ruling/{Ruling.objects.get().pk}/undo/", {"why": "a mistake"})
    rollbacks_run(now=datetime.now(UTC))
    assert _top(crowd)[0] == ("nova", 900)
    assert client.get("/admin/anticheat/rollback/").status_code == 200


def test_a_rollback_of_a_whole_mode_shows_who_leaves(client: Client, crowd: Mode) -> None:
    outlook = client.get(ADD, _asked()).context["outlook"]
    assert (outlook.attempts, outlook.players) == (14, 13)
    assert all(top.after == [] and len(top.before) == 10 for top in outlook.tops)


def test_who_moves_up_is_looked_for_below_all_who_fall(client: Client, crowd: Mode) -> None:
    make_exploiters(crowd, many=120)
    outlook = client.get(ADD, _asked(predicate="build=1.42.0")).context["outlook"]
    assert (outlook.attempts, len(outlook.tops)) == (120, len(crowd.windows))
    for top in outlook.tops:
        assert [line.name for line in top.after] == ["nova", *(f"p{number:02}" for number in range(12, 3, -1))]


@pytest.mark.parametrize("looked_at", ["extent", "covered"])
def test_a_rollback_too_large_to_look_at_can_be_done(
    client: Client, crowd: Mode, monkeypatch: pytest.MonkeyPatch, looked_at: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(selections, "_PATIENCE_MS", 500)
        patched.setattr(selections, looked_at, _slow)
        answer = client.get(ADD, _asked())
    assert answer.status_code == 200
    page = answer.content.decode()
    assert ("More attempts than can be counted" if looked_at == "extent" else "14 attempts of 13 players") in page
    assert "Take them back" in page
    assert answer.context["outlook"].tops == []
    client.post(ADD, _asked())
    rollbacks_run(now=datetime.now(UTC))
    assert _top(crowd) == []


def test_what_counts_then_is_worked_out_with_the_same_patience(
    client: Client, crowd: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standings, "counted", _slow)
    monkeypatch.setattr(selections, "_PATIENCE_MS", 2000)
    answer = client.get(ADD, _asked(player_id="nova"))
    assert (answer.context["outlook"].attempts, answer.context["outlook"].tops) == (2, [])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"mode": ""}, "names a mode, a player or a key"),
        ({"player_id": "nobody"}, "There is none in arena"),
        ({"key": "nothing"}, "There is none in arena"),
        ({"since": "2090-01-01T00:00"}, "must lie before until"),
        ({"predicate": "build 1.42"}, "a name, = and a value"),
        ({"predicate": "Über=1"}, "or a dimension, not"),
        ({"reason": ""}, "Say why"),
        ({"game": "none"}, "valid choice"),
        ({"since": "yesterday"}, "Enter a valid date/time"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    client: Client, crowd: Mode, fields: dict[str, Any], sentence: str
) -> None:
    for send in (client.get, client.post):
        answer = send(ADD, _asked() | fields)
        assert answer.status_code == 400
        assert sentence in unescape(answer.content.decode())
    assert not Rollback.objects.exists()


def test_what_a_key_and_a_build_sent_is_chosen(client: Client, crowd: Mode) -> None:
    make_key(crowd.game)
    outlook = client.get(ADD, _asked(key=ApiKey.objects.get().prefix, predicate="build=1.42.0\nlevel=7")).context
    assert outlook["outlook"].attempts == 0
    client.post(ADD, _asked(predicate="build=1.42.0\nlevel=7"))
    assert Rollback.objects.get().predicate == {"build": "1.42.0", "level": "7"}
