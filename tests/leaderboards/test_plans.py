"""What the hot paths ask of PostgreSQL: by index, and of bounded size."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from leaderboards import judging, log, outbox, partitions, standings
from leaderboards.careers import career
from leaderboards.drain import stream_drain
from leaderboards.history import PAST, SEEN, LogHistory
from leaderboards.improvements import Improvement
from leaderboards.models import Mode
from leaderboards.rules.instants import micros
from leaderboards.stamp import stream_stamp
from players.selectors import players_beginning
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 20_000
LARGE = ("score_attempts", "leaderboards_standing", "leaderboards_outbox", "leaderboards_placement", "players_player")


@pytest.fixture
def mode() -> Mode:
    """Tables as they are after some days: every query below has something to scan if it is let."""
    mode = make_mode(make_game())
    first = make_player(mode.game).pk
    today = partitions.today()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO players_player (game_id, player_id, display_name, country, region, avatar_url, created_at)"
            " SELECT %s, 'x-' || n, 'x', '', '', '', now() FROM generate_series(1, %s) n",
            [mode.game.pk, ROWS],
        )
        for day in (today - timedelta(days=2), today - timedelta(days=1), today):
            partitions.make(day)
            cursor.execute(
                "INSERT INTO score_attempts (received_at, mode_id, player_id, attempt_id, score, achieved_at, windows)"
                " SELECT %s, %s, %s + n, gen_random_uuid(), n, now(), 15 FROM generate_series(1, %s) n",
                [datetime.combine(day, datetime.min.time(), UTC), mode.pk, first, ROWS],
            )
        cursor.execute(
            "INSERT INTO leaderboards_standing"
            ' (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)'
            " SELECT %s, %s + n / 2, 'alltime', (n %% 2)::text, n, now(), n, now() FROM generate_series(1, %s) n",
            [mode.pk, first, ROWS],
        )
        cursor.execute(
            "INSERT INTO leaderboards_placement (mode_id, player_id, region, country, listed)"
            " SELECT %s, %s + n, '', '', true FROM generate_series(1, %s) n",
            [mode.pk, first, ROWS],
        )
        cursor.execute(
            "INSERT INTO leaderboards_outbox (mode_id, shard, shards, kind, payload, tries, created_at)"
            " SELECT %s + n %% 1000, 0, 1, 1, '\\x920190', 0, now() FROM generate_series(1, %s) n",
            [mode.pk, ROWS],
        )
        cursor.execute("INSERT INTO leaderboards_stream (mode_id, shard, seq) VALUES (%s, 0, 0)", [mode.pk])
        cursor.execute("ANALYZE score_attempts, leaderboards_standing, leaderboards_outbox, leaderboards_placement")
        cursor.execute("ANALYZE players_player, players_ban")
    return mode


@contextmanager
def explained() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Each statement's plan, as PostgreSQL has it in that place, beside the statement itself."""
    plans: list[tuple[str, dict[str, Any]]] = []

    def explain(execute: Callable[..., Any], statement: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        text = statement if isinstance(statement, str) else statement.as_string(connection.connection)
        if text.lstrip().upper().startswith(("WITH", "SELECT", "INSERT", "UPDATE", "DELETE")) and "pg_" not in text:
            with connection.connection.cursor() as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + text, params)
                (told,) = cursor.fetchone()
            plans.append((text, (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(explain):
        yield plans


def is_empty(table: str) -> bool:
    """As the partitions of the days ahead are: an index would be the longer way."""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT NOT EXISTS (SELECT FROM "{table}")')  # noqa: S608 - a name out of a plan
        empty: bool = cursor.fetchone()[0]
    return empty


def scanned(plan: dict[str, Any]) -> Iterator[str]:
    """Tables that are read from end to end."""
    if plan["Node Type"] == "Seq Scan" and not is_empty(plan["Relation Name"]):
        yield plan["Relation Name"]
    for part in plan.get("Plans", []):
        yield from scanned(part)


def none_is_scanned(plans: list[tuple[str, dict[str, Any]]]) -> None:
    assert plans
    for text, plan in plans:
        assert [name for name in scanned(plan) if name.startswith(LARGE)] == [], text


def _keys(mode: Mode, many: int) -> list[tuple[int, UUID]]:
    first = mode.game.players.order_by("pk").values_list("pk", flat=True)[0]
    return [(first + number * 7, uuid4()) for number in range(many)]


@pytest.mark.parametrize("many", [1, 500])
def test_logging_looks_for_each_attempt_by_index(mode: Mode, many: int) -> None:
    at = datetime.now(UTC)
    keys = _keys(mode, many)
    attempts = [log.Attempt(mode.pk, player, attempt, score=1, achieved_at=at, windows=15) for player, attempt in keys]
    with explained() as plans, transaction.atomic():
        arrival = log.enter()
        assert len(log.append(attempts, arrival=arrival)) == many
        assert len(log.find(keys, since=partitions.recent_since(arrival.at))) == many
    assert len(plans) == 3
    none_is_scanned(plans)


@pytest.mark.parametrize("many", [1, 500])
def test_stamping_reads_and_writes_by_index(mode: Mode, many: int) -> None:
    at = datetime.now(UTC)
    players = [player for player, _ in _keys(mode, many)]
    micros = int(at.timestamp()) * 1_000_000
    scores = [standings.ScoreRow(player, 5, micros, n, 15) for n, player in enumerate(players)]
    waiting = standings.Pending(
        [outbox.columns(scores, arrived=micros)], placed=set(players[:10]), retold=set(players[:10])
    )
    with explained() as plans, transaction.atomic():
        standings.tell(mode=mode, waiting=waiting, now=at, fold=judging.folded, review=judging.reviewed)
    none_is_scanned(plans)


def read(plan: dict[str, Any]) -> float:
    """Rows of tables."""
    own = plan["Actual Rows"] * plan["Actual Loops"] if "Relation Name" in plan else 0
    return float(own) + sum(read(part) for part in plan.get("Plans", []))


def test_a_look_at_the_past_is_bounded_however_often_a_player_plays(mode: Mode) -> None:
    player, asked = make_player(mode.game).pk, list[tuple[Any, Any]]()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO score_attempts (received_at, mode_id, player_id, attempt_id, score, achieved_at, windows)"
            " SELECT %s, %s, %s, gen_random_uuid(), n, now(), 15 FROM generate_series(1, %s) n",
            [datetime.combine(partitions.today(), datetime.min.time(), UTC), mode.pk, player, ROWS],
        )

    def keep(execute: Callable[..., Any], statement: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        asked.append((statement, params))
        return execute(statement, params, many, context)

    now = datetime.now(UTC)
    with connection.execute_wrapper(keep):
        found = LogHistory(mode, now).past([Improvement(player, 1, 5, 0, micros(now), None, 5)])
    assert len(found[player]) == PAST
    (of_log,) = [one for one in asked if "score_attempts" in one[0]]
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + of_log[0], of_log[1])
        (told,) = cursor.fetchone()
    assert PAST <= read((json.loads(told) if isinstance(told, str) else told)[0]["Plan"]) <= SEEN < ROWS


def test_taking_from_the_outbox_is_by_index(mode: Mode) -> None:
    with explained() as plans:
        stream_stamp(mode=mode, shard=0, now=datetime.now(UTC))
    assert any("leaderboards_outbox" in text for text, _ in plans)
    none_is_scanned(plans)


def _scores(many: int, **fields: object) -> dict[str, object]:
    return {"scores": [{"mode": "solo", "player_id": f"x-{n * 13 + 1}", "score": n, **fields} for n in range(many)]}


@pytest.mark.parametrize("many", [1, 500])
def test_a_submission_asks_by_index(mode: Mode, api: ApiClient, many: int) -> None:
    key, game = make_key(mode.game), f"/v1/games/{mode.game.slug}"
    with explained() as plans:
        answer = api("POST", f"{game}/scores", credential=key, json=_scores(many))
        assert answer.json()["accepted"] == many
        one = {"player_id": "x-7", "score": 5}
        assert api("POST", f"{game}/modes/solo/scores", credential=key, json=one).status_code == 202
    none_is_scanned(plans)


def test_reads_ask_by_index(mode: Mode, api: ApiClient) -> None:
    key, game = make_key(mode.game), f"/v1/games/{mode.game.slug}"
    api("POST", f"{game}/scores", credential=key, json=_scores(300, metadata={"a": 1}))
    stream_drain(mode_id=mode.pk, shard=0, now=datetime.now(UTC))
    board = f"{game}/modes/solo/leaderboards/alltime"
    with explained() as plans:
        entries = api.get(f"{board}?limit=200&include=metadata").json()["entries"]
        assert [entry["metadata"] for entry in entries] == [{"a": 1}] * 200
        for address in (f"{board}/players/x-14?neighbors=50", f"{game}/players/x-14/attempts", f"{game}/players/x-14"):
            assert api.get(address, credential=key).status_code == 200
        asked = {"player_ids": [f"x-{n}" for n in range(1, 1000)]}
        assert len(api("POST", f"{board}/lookup", json=asked).json()["entries"]) == 999
    assert len(plans) >= 10
    none_is_scanned(plans)


def test_pages_ask_by_index(mode: Mode) -> None:
    other = make_player(make_game("other"), display_name="Xavier")
    now, player = datetime.now(UTC), mode.game.players.get(player_id="x-7").pk
    with explained() as plans:
        found = [players_beginning(game=mode.game_id, text=text, most=20) for text in ("x-7", "y", "X")]
        assert players_beginning(game=other.game_id, text="xAV", most=20) == [other.player_id]
        assert len(career(player, now=now, whole=True).done) == 3
        assert career(player, now=now, whole=False).done
    assert [len(one) for one in found] == [1, 0, 20]
    none_is_scanned(plans)


def test_a_scan_would_be_seen(mode: Mode) -> None:
    with explained() as plans, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM score_attempts WHERE score = %s", [5])
    with pytest.raises(AssertionError):
        none_is_scanned(plans)
