"""What a board's page says, looked at without a browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation
from pytest_django import Settings

from config import valkey
from leaderboards import board_states
from leaderboards.boards.board import Board, board_named
from leaderboards.ghosts import seen_by
from leaderboards.models import Mode
from leaderboards.pages import numbers, times, words
from leaderboards.pages.paging import Paging, page_asked
from leaderboards.pages.rows import movement, ranks_before
from leaderboards.pages.scopes import scope_groups
from leaderboards.pages.search import found_on
from leaderboards.pages.spread import HEIGHT, spread
from leaderboards.pages.you import you_on
from players.models import Ban, Game
from tests.client import ApiClient
from tests.factories import make_game, make_mode, make_player
from tests.pages.people import Person
from tests.pages.scenes import play

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture
def game(transactional_db: None) -> Iterator[Game]:
    with translation.override("en"):
        yield make_game("arena")


def _board(game: Game, mode: str = "solo", window: str = "daily", scope: str = "global") -> Board:
    found = Mode.objects.select_related("game").get(game=game, slug=mode)
    return board_named(mode=found, window=window, scope=scope, at=timezone.now())


def test_numbers_and_times_are_written_as_people_do() -> None:
    with translation.override("en"):
        assert numbers.score_text(1234567, 0) == "1,234,567"
        assert numbers.score_text(Decimal("1234.500"), 3) == "1,234.500"
        assert [numbers.percent(share) for share in (99.937, 42.7, 100.0)] == ["99.93", "42", "100"]
        assert [numbers.percent(share, up=True) for share in (0.0131, 1.5, 42.7)] == ["0.02", "1.5", "43"]
        assert (times.left(NOON + timedelta(hours=5, minutes=12), now=NOON), times.left(NOON, now=NOON)) == (
            "5 h 12 min",
            "0 s",
        )
        assert times.left(NOON + timedelta(days=3, seconds=5), now=NOON) == "3 d 0 h"
        assert times.ago(NOON - timedelta(minutes=3), now=NOON) == "3 min. ago"
    with translation.override("de"):
        assert numbers.score_text(Decimal("1234.500"), 3) == "1.234,500"


def test_pages_begin_at_one_and_end_with_the_last_player() -> None:
    assert [page_asked(text) for text in ("3", "1,234", "0", "-1", "x", "", "9" * 30)] == [3, 1234] + [None] * 5
    assert Paging.of(1, 0) == Paging(1, 1)
    assert Paging.of(9, 101) == Paging(3, 3)
    assert (Paging.of(2, 101).previous, Paging.of(2, 101).next, Paging.of(2, 101).first_rank) == (1, 3, 51)
    assert (Paging.of(1, 50).previous, Paging.of(1, 50).next) == (None, None)


def test_movement_tells_its_period_and_is_blank_with_a_reason_where_it_is_not_known() -> None:
    with translation.override("en"):
        before = {"climbed": 9, "fell": 1, "stayed": 4}
        told = {name: movement(4, name, before, "since yesterday") for name in (*before, "new")}
        assert [(one.delta, one.way, one.said) for one in told.values()] == [
            (5, "up", "Up 5 since yesterday"),
            (-3, "down", "Down 3 since yesterday"),
            (0, "same", "Unchanged since yesterday"),
            (None, "none", "New here: not on the board before."),
        ]
        assert movement(4, "anybody", None, "").said.startswith("No movement to show")


def test_movement_is_against_the_same_players_on_the_window_before(game: Game) -> None:
    make_mode(game, grace_seconds=7 * 24 * 3600)
    yesterday = timezone.now() - timedelta(days=1)
    play(game, "solo", {"a": 10, "b": 20}, at=yesterday)
    play(game, "solo", {"a": 30, "c": 5})
    now = timezone.now()
    assert ranks_before(_board(game), ["a", "b", "c"], at=now) == {"b": 1, "a": 2}
    assert ranks_before(_board(game, window="alltime"), ["a"], at=now) is None


def test_the_next_goal_is_the_nearest_better_score(game: Game) -> None:
    make_mode(game, min_score=0, max_score=10_000)
    play(game, "solo", {"nova": 1000, "level": 788})
    play(game, "solo", {"me": 788, "last": 1})
    now = timezone.now()
    you = you_on(_board(game), "me", now=now)
    assert you is not None
    assert you.goal is not None
    assert (you.rank, you.goal.kind, you.goal.gap, you.goal.rank, you.goal.name) == (3, "pass", "212", "1", "nova")
    assert [row.player_id for row in you.rows] == ["nova", "level", "me", "last"]
    assert you.top_percent == "75"
    leader = you_on(_board(game), "nova", now=now)
    assert leader is not None
    assert leader.goal is not None
    assert (leader.goal.kind, leader.goal.gap) == ("lead", "212")


def test_who_is_last_of_very_many_is_ahead_of_no_percent_and_told_so(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mode(game)
    play(game, "solo", {"first": 9, "me": 1})
    monkeypatch.setattr(board_states, "_percentile", lambda _rank, _total: 0.0)
    you = you_on(_board(game), "me", now=timezone.now())
    assert you is not None
    assert (you.percentile, you.top_percent) == ("0.00", "100")


def test_who_is_not_listed_is_told_why_and_a_shadow_ban_is_no_reason(game: Game) -> None:
    make_mode(game)
    play(game, "solo", {"fair": 5, "loud": 7, "quiet": 9})
    now = timezone.now()
    for name, kind in (("loud", Ban.Kind.BAN), ("quiet", Ban.Kind.SHADOW)):
        player = game.players.get(player_id=name)
        Ban.objects.create(player=player, kind=kind, reason="speed hack", starts_at=now - timedelta(minutes=1))
    idle = make_player(game, "idle")
    play(game, "solo", {"fair": 6})
    board = _board(game)
    told = {
        name: you_on(seen_by(board, name, at=now), name, now=now) for name in ("quiet", idle.player_id or "", "nobody")
    }
    assert [(you.rank if you else None, you.bans if you else None) for you in told.values()] == [
        (1, []),
        (None, []),
        (None, []),
    ]
    loud = you_on(board, "loud", now=now)
    assert loud is not None
    assert (loud.rank, [one.reason for one in loud.bans]) == (None, ["speed hack"])


def test_the_drawing_counts_everybody_once_and_marks_your_place(game: Game) -> None:
    make_mode(game, min_score=0, max_score=1000)
    play(game, "solo", {f"p{n}": n * n for n in range(30)})
    drawn = spread(_board(game), own=841)
    assert drawn is not None
    assert (drawn.least, drawn.most) == ("0", "841")
    assert drawn.bars[-1].mine
    assert sum(bar.mine for bar in drawn.bars) == 1
    assert max(float(bar.height) for bar in drawn.bars) == HEIGHT
    assert len(drawn.bars) <= 40
    assert spread(_board(game, window="weekly", scope="country:DE"), own=None) is None


def test_scopes_offer_what_players_have_and_search_finds_how_names_begin(game: Game) -> None:
    make_mode(game, dimensions=["region", "country", "level"])
    make_player(game, "p-1", display_name="Nova", country="DE", region="eu")
    make_player(game, "p-2", display_name="novum")
    make_player(make_game("other"), "p-3", display_name="Nova of another game")
    play(game, "solo", {"p-1": 5}, dimensions={"level": "10"})
    play(game, "solo", {"p-1": 6}, dimensions={"level": "9"})
    groups = scope_groups(_board(game).mode, "country:NZ")
    assert [(group.name, [one.scope for one in group.choices]) for group in groups] == [
        ("Region", ["region:eu"]),
        ("Country", ["country:DE", "country:NZ"]),
        ("Level", ["level:9", "level:10"]),
    ]
    assert words.scope_name("country:DE") == "Country 🇩🇪 DE"
    found = found_on(_board(game), "nov", mine=None, now=timezone.now())
    assert [(row.name, row.rank) for row in found] == [("Nova", 1), ("novum", None)]
    assert found_on(_board(game), "%", mine=None, now=timezone.now()) == []


def test_a_page_speaks_the_visitors_language_and_the_api_speaks_english(api: ApiClient) -> None:
    make_mode(make_game("arena"), decimals=1)
    play(Game.objects.get(), "solo", {"a": "1234.5"})
    german = {"Accept-Language": "de-AT,de;q=0.9"}
    page = api.get("/g/arena/solo/daily", headers=german)
    assert page.status_code == 200
    assert '<html lang="de"' in page.text
    assert "1.234,5" in page.text
    assert page.headers["content-language"] == "de"
    assert {"accept-language", "cookie"} <= {one.strip().lower() for one in page.headers["vary"].split(",")}
    chosen = api("POST", "/language", data={"language": "en", "next": "/g/arena/solo/daily"}, headers=german)
    assert (chosen.status_code, chosen.headers["location"]) == (302, "/g/arena/solo/daily")
    cookie = chosen.headers["set-cookie"].partition(";")[0]
    again = api.get("/g/arena/solo/daily", headers=german | {"Cookie": cookie})
    assert '<html lang="en"' in again.text
    for path in ("/v1/games", "/v1/games/arena", "/admin/login/"):
        assert "de" not in api.get(path, headers=german).headers.get("content-language", "en")


def test_modes_that_wait_for_their_first_score_are_asked_for_together(game: Game) -> None:
    for mode in ("solo", "duel", "lap"):
        make_mode(game, mode)
    with CaptureQueriesContext(connection) as asked:
        assert Person().get("/g/arena").status_code == 200
    assert sum('FROM "leaderboards_mode"' in one["sql"] for one in asked) == 1


def test_what_is_not_there_or_not_for_everybody_is_said_on_a_page(api: ApiClient) -> None:
    make_mode(make_game("arena"))
    make_mode(make_game("secret", public=False), title="Underground")
    for path in (
        "/g/nothing",
        "/g/arena/nothing",
        "/g/arena/solo/hourly",
        "/g/arena/solo/daily:2099-01-01",
        "/g/arena/solo/daily?scope=level:7",
        "/g/arena/solo/daily?scope=friends",
    ):
        answer = api.get(path)
        assert (answer.status_code, "Nothing on this rung" in answer.text) == (404, True), path
    assert api.get("/g/arena/solo").headers["location"] == "/g/arena/solo/daily"
    for path in ("/g/secret", "/g/secret/solo", "/g/secret/solo/daily"):
        answer = api.get(path)
        assert (answer.status_code, "This game is private" in answer.text) == (401, True)
        assert "Underground" not in answer.text
    assert "No score yet" in api.get("/g/arena/solo/weekly?page=7&rank=x").text


def test_while_the_boards_do_not_answer_the_page_says_so_and_shows_the_rest(api: ApiClient, settings: Settings) -> None:
    game = make_game("arena")
    make_mode(game, description="One run, one score.")
    play(game, "solo", {"a": 5})
    valkey.client(settings.VALKEY_URL).flushdb()
    page = api.get("/g/arena/solo/daily")
    assert (page.status_code, page.headers["retry-after"]) == (503, "2")
    assert "The boards do not answer just now" in page.text
    assert "One run, one score." in page.text
    assert "The boards do not answer just now" in api.get("/").text
    framed = api.get("/embed/arena/solo/daily")
    assert (framed.status_code, framed.headers["cache-control"]) == (503, "no-store")
    assert "The boards do not answer just now" in framed.text
    assert "x-frame-options" not in framed.headers
