"""Behind a pooler that lends a connection for a transaction only, everything works as without."""

import runpy
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection

from leaderboards.models import Mode
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.live import ROOT, database_url
from tests.pooler import Pooler, pooler

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def between(transactional_db: None) -> Iterator[Pooler]:
    with pooler(database_url()) as running:
        yield running


@pytest.fixture
def through(between: Pooler, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pooler]:
    """The test's own connection is one to the pooler, as the settings make it."""
    before = dict(connection.settings_dict)
    _reconnect(_as_settings_say(between, monkeypatch))
    yield between
    _reconnect(before)


def _as_settings_say(between: Pooler, monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    address, _, name = database_url().rpartition("/")
    url = f"{address.rpartition(':')[0]}:{between.port}/{name}"
    for variable, value in {"DATABASE_URL": url, "RUNG_DATABASE_POOLER": "1", **environment}.items():
        monkeypatch.setenv(variable, value)
    found: dict[str, Any] = runpy.run_path(str(ROOT / "config/settings.py"))["DATABASES"]["default"]
    return found


def _reconnect(settings: dict[str, Any]) -> None:
    connection.close()
    connection.settings_dict.update(settings)


def test_scores_are_taken_ranked_and_made_again(through: Pooler, api: ApiClient) -> None:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000, dimensions=("level",))
    key = make_key(mode.game)
    for number in range(6):
        body = {"player_id": f"p-{number}", "score": number, "dimensions": {"level": f"{number % 2}"}}
        assert api("POST", "/v1/games/arena/modes/solo/scores", credential=key, json=body).status_code == 202
    drain(mode)
    call_command("rebuild_boards")
    call_command("reconcile", "--all")
    board = api.get("/v1/games/arena/modes/solo/leaderboards/alltime").json()
    assert [entry["player_id"] for entry in board["entries"]] == [f"p-{number}" for number in reversed(range(6))]
    assert len(api.get("/v1/games/arena/players/p-3/attempts", credential=key).json()["attempts"]) == 1
    assert through.lent > 50, "all of it went through the pooler"


def _many_times() -> list[int]:
    modes = [list(Mode.objects.iterator(chunk_size=1)) for _ in range(10)]  # asked so often, a statement is prepared
    return [len(found) for found in modes]


def test_the_setting_leaves_nothing_on_a_connection(through: Pooler, monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("arena")
    for slug in ("solo", "duo"):
        make_mode(game, slug)
    assert _many_times() == [2] * 10
    _reconnect(_as_settings_say(through, monkeypatch, RUNG_DATABASE_POOLER="0"))
    with pytest.raises(DatabaseError, match=r"_django_curs.* does not exist"):
        _many_times()


def test_no_statement_is_prepared_and_one_that_is_would_be_missed(through: Pooler) -> None:
    connection.ensure_connection()
    assert connection.connection.prepare_threshold is None
    connection.connection.prepare_threshold = 1
    ours = connection.connection.cursor_factory  # which puts values into the text itself, so that none would be
    connection.connection.cursor_factory = psycopg.Cursor
    with pytest.raises(DatabaseError, match="prepared statement"):
        _one_by_one()
    connection.connection.cursor_factory, connection.connection.prepare_threshold = ours, None
    _one_by_one()


def _one_by_one() -> None:
    for number in range(9):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::int", [number])
