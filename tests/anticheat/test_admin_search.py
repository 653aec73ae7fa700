"""One box finds players, attempts, keys and addresses; and the dashboard counts no large table."""

from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anticheat.glance import glance
from leaderboards.models import Mode
from players.models import ApiKey, Player
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import make_case, make_crowd
from tests.factories import make_key

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd() -> Mode:
    mode = make_crowd()
    Player.objects.filter(player_id="nova").update(display_name="Nova Prime")
    return mode


@pytest.fixture
def client() -> Client:
    return signed_in(make_operator("viewer"))


def _found(client: Client, asked: str) -> str:
    answer = client.get("/admin/trust/search", {"q": asked})
    assert answer.status_code == 200
    return unescape(answer.content.decode())


@pytest.mark.parametrize("asked", ["nova", "nov", "Nova", "Nova Pr", str(UUID(int=14)), f"nova {UUID(int=14)}"])
def test_a_player_is_found_by_what_one_has_of_it(client: Client, crowd: Mode, asked: str) -> None:
    assert "Nova Prime" in _found(client, asked)


def test_what_nobody_has_is_not_found(client: Client, crowd: Mode) -> None:
    for asked in ("zzz", str(UUID(int=99)), "203.0.113.9", "%", "_", "'", "nova " + "x" * 200):
        assert "Nova Prime" not in _found(client, asked), asked


def test_a_key_is_found_by_how_it_begins(client: Client, crowd: Mode) -> None:
    make_key(crowd.game)
    key = ApiKey.objects.get()
    assert str(key) in _found(client, key.prefix[:5])
    assert str(key) in _found(client, f"rung_{key.prefix}_secret")


def test_an_address_is_found_in_the_log(client: Client, crowd: Mode) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts SET client = %s WHERE attempt_id = %s",
            ['{"address": "203.0.113.9"}', UUID(int=14)],
        )
    page = _found(client, "203.0.113.9")
    assert "Nova Prime" in page
    assert str(UUID(int=14)) in page


def test_the_dashboard_says_what_is_going_on(client: Client, crowd: Mode) -> None:
    make_case(crowd)
    with CaptureQueriesContext(connection) as asked:
        page = unescape(client.get("/admin/").content.decode())
    counts = [one["sql"] for one in asked if "COUNT(" in one["sql"].upper()]
    cost = len(asked)
    assert "open cases" in page
    assert "Nova Prime" in page, "who entered the first hundred today"
    told = client.get("/admin/trust/").context["glance"]
    assert (told.open_cases, told.flagged_today) == (1, 1)
    assert cost <= 30
    assert counts
    assert all("LIMIT" in sql or "ctid" in sql for sql in counts), counts


def test_scores_a_second_are_those_of_the_last_minute(crowd: Mode) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(received_at) FROM score_attempts WHERE mode_id = %s", [crowd.pk])
        last = cursor.fetchone()[0]
        cursor.execute(
            "SELECT count(*) FROM score_attempts WHERE received_at > %s AND received_at::date = %s",
            [last - timedelta(minutes=1), last.date()],
        )
        count = cursor.fetchone()[0]
    assert glance(now=last).scores_a_second == count / 60 > 0


def test_lists_of_players_count_no_further_than_they_show(client: Client, crowd: Mode) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/admin/players/player/?q=p").status_code == 200
    counts = [one["sql"] for one in asked if "COUNT(" in one["sql"].upper()]
    assert counts
    assert all("LIMIT" in sql for sql in counts)
