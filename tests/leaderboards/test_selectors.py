"""What is said about games and modes: every window as it is now, in the mode's own timezone."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from leaderboards.errors import ModeNotFound
from leaderboards.selectors import mode_get, mode_state, players_of
from players.models import Player
from tests.client import ApiClient
from tests.factories import make_game, make_mode, make_player, record_of

pytestmark = pytest.mark.django_db


def test_each_window_has_its_id_and_when_it_begins_and_ends_where_the_mode_is_at_home() -> None:
    mode = make_mode(make_game(), timezone="Europe/Berlin", min_score=0, max_score=1_000_000)
    at = datetime(2026, 4, 4, 22, 30, tzinfo=UTC)  # half past midnight of the 5th, a Sunday, in Berlin
    state = mode_state(mode, at=at)
    assert [(now.window, now.window_id) for now in state.current_windows] == [
        ("daily", "daily:2026-04-05"),
        ("weekly", "weekly:2026-W14"),
        ("monthly", "monthly:2026-04"),
        ("alltime", "alltime"),
    ]
    daily, *_, alltime = state.current_windows
    assert (daily.starts_at, daily.resets_at) == (
        datetime(2026, 4, 4, 22, tzinfo=UTC),
        datetime(2026, 4, 5, 22, tzinfo=UTC),
    )
    assert (alltime.starts_at, alltime.resets_at) == (None, None)
    assert daily.tie_resolution_ms == 1
    assert (alltime.tie_resolution_ms or 0) > 1


def test_only_declared_windows_are_shown() -> None:
    mode = make_mode(make_game(), windows=("weekly",))
    assert [now.window for now in mode_state(mode, at=timezone.now()).current_windows] == ["weekly"]


@pytest.mark.parametrize("slug", ["duo", "SOLO", "", "so\0lo"])
def test_a_mode_that_is_not_there_is_not_found(slug: str) -> None:
    game = make_game()
    make_mode(game, "solo")
    make_mode(make_game(), "duo")
    with pytest.raises(ModeNotFound):
        mode_get(game=record_of(game), mode=slug)


def test_a_game_says_how_many_play_and_who_was_there_today_and_erased_ones_do_not_count(api: ApiClient) -> None:
    game = make_game("arena")
    noon = datetime(2026, 4, 5, 12, tzinfo=UTC)
    for hours in (1, 11, 13, 40):
        make_player(game, last_seen_at=noon - timedelta(hours=hours))
    make_player(game)
    Player.objects.create(game=game, player_id=None, erased_at=noon)
    with time_machine.travel(noon, tick=False):
        state = api.get("/v1/games/arena").json()
    assert (state["players"], state["players_active_today"], state["idempotency_hours"]) == (5, 2, 48)


def test_a_game_lists_its_own_modes_in_order(api: ApiClient) -> None:
    game = make_game("arena")
    make_mode(game, "solo")
    make_mode(game, "duo")
    make_mode(make_game("other"), "alien")
    assert [mode["mode"] for mode in api.get("/v1/games/arena").json()["modes"]] == ["duo", "solo"]


def test_players_are_counted_seldom() -> None:
    game, now = make_game(), datetime(2026, 4, 5, 12, tzinfo=UTC)
    make_player(game, last_seen_at=now)
    assert players_of(game.pk, now) == (1, 1)
    make_player(game)
    assert players_of(game.pk, now + timedelta(seconds=29)) == (1, 1), "what was counted last"
    assert players_of(game.pk, now + timedelta(seconds=61)) == (2, 1)


def test_without_the_cache_players_are_counted_no_more_often(
    settings: Settings, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:9/0"}}
    game, now = make_game(), datetime(2026, 4, 5, 12, tzinfo=UTC)
    make_player(game, last_seen_at=now)
    assert players_of(game.pk, now) == (1, 1)
    make_player(game)
    with django_assert_num_queries(0):
        assert players_of(game.pk, now + timedelta(seconds=29)) == (1, 1), "what was counted last"
    later = now + timedelta(hours=1)  # however slow the machine is
    assert players_of(game.pk, later) == (2, 1)
    with django_assert_num_queries(0):
        assert players_of(game.pk, later + timedelta(seconds=29)) == (2, 1)
