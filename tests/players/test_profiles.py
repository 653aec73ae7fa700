"""What boards show of players is kept in the process, and is never who they were before."""

import time
from collections.abc import Callable

import httpx
import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from players import profiles
from players.models import Player
from players.services import player_edit, player_erase, player_upsert, players_register
from players.wire import PlayerUpsert
from tests.factories import make_game, make_key, make_player, record_of
from tests.hearing import all_heard
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nova() -> Player:
    player = make_player(make_game("arena"), "p-1", display_name="Nova", country="DE")
    all_heard()  # what its making had to tell, too
    return player


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen


def _name(player: Player) -> str:
    return profiles.profiles([player.pk])[player.pk].display_name


def test_who_was_shown_is_known_without_asking(nova: Player, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    game, ids = nova.game_id, [(nova.game_id, "p-1"), (nova.game_id, "nobody")]
    assert list(profiles.profiles_named(ids)) == [(game, "p-1")]
    with django_assert_num_queries(0):
        assert _name(nova) == "Nova"
        assert profiles.pks_of(game, ["p-1"]) == {"p-1": nova.pk}
        assert profiles.profiles_named(ids[:1])[game, "p-1"].country == "DE"
    with django_assert_num_queries(1):
        assert profiles.pks_of(game, ["p-1", "nobody", "a\0b"]) == {"p-1": nova.pk}


def test_who_changes_is_known_anew_and_the_others_as_before(
    nova: Player, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    other = make_player(nova.game, "p-2")
    both = [nova.pk, other.pk]
    profiles.profiles(both)
    player_upsert(
        game=record_of(nova.game), player_id="p-1", wanted=PlayerUpsert(display_name="Vega"), at=timezone.now()
    )
    assert _name(nova) == "Vega"
    player_edit(player=nova, fields={"display_name": "Lyra"})
    assert _name(nova) == "Lyra"
    all_heard()  # told to oneself as well
    profiles.profiles(both)
    with django_assert_num_queries(0):
        assert profiles.profiles(both)[other.pk].display_name == "p-2"


def test_who_is_changed_by_another_process_is_known_anew(nova: Player, web: Web) -> None:
    assert _name(nova) == "Nova"
    answer = httpx.put(
        f"{web.origin}/v1/games/arena/players/p-1",
        headers={"Authorization": f"Bearer {make_key(nova.game)}"},
        json={"display_name": "Vega"},
        timeout=20,
    )
    assert answer.status_code == 200
    assert _eventually(lambda: _name(nova) == "Vega"), "it would be forgotten in its time, after a minute"


def test_who_is_erased_is_nobody_and_who_takes_the_id_is_another(nova: Player) -> None:
    game = record_of(nova.game)
    assert profiles.pks_of(game.pk, ["p-1"]) == {"p-1": nova.pk}
    player_erase(game=game, player_id="p-1", at=timezone.now())
    assert profiles.profiles([nova.pk]) == {}
    assert profiles.profiles_named([(game.pk, "p-1")]) == {}
    new = players_register(game=game, player_ids=["p-1"], at=timezone.now())["p-1"]
    assert new != nova.pk
    assert profiles.pks_of(game.pk, ["p-1"]) == {"p-1": new}
    assert profiles.profiles_named([(game.pk, "p-1")])[game.pk, "p-1"].pk == new
