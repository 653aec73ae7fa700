"""The demo: three modes and some thousand believable players, made once, the same everywhere."""

import io

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from leaderboards.demo.people import demo_players
from leaderboards.models import Mode
from leaderboards.rules.mode import examine
from players.models import Game, Player
from tests.client import ApiClient


def _load() -> str:
    out = io.StringIO()
    call_command("load_demo", stdout=out)
    return out.getvalue()


@time_machine.travel(timezone.now().replace(hour=12))  # at midnight nobody has played today
def test_the_demo_is_loaded_once(api: ApiClient) -> None:
    assert "Loaded Skyline Rush: 3 modes, 3,000 players, 3,000 scores." in _load()
    before = (list(Game.objects.values()), list(Mode.objects.values()), list(Player.objects.order_by("pk").values()))
    assert _load() == ""
    after = (list(Game.objects.values()), list(Mode.objects.values()), list(Player.objects.order_by("pk").values()))
    assert before == after
    state = api.get("/v1/games/demo").json()
    assert (state["players"], [mode["mode"] for mode in state["modes"]]) == (3000, ["arcade", "dodge", "lap"])
    assert state["players_active_today"] > 100
    arcade, _, lap = state["modes"]
    assert (arcade["order"], lap["order"], lap["decimals"], lap["max_score"]) == ("desc", "asc", 3, 600)
    assert [examine(mode.rules).warnings for mode in Mode.objects.all()] == [[], [], []]


@pytest.mark.django_db
def test_every_player_of_the_demo_could_have_registered_by_the_rules() -> None:
    game = Game.objects.create(slug="demo", title="Demo")
    people = list(demo_players(game=game.pk, count=3000, now=timezone.now()))
    for player in people:
        name = player.display_name
        player.full_clean(validate_unique=False, validate_constraints=False, exclude=["game"])
        assert player.display_name == name
    assert len({player.country for player in people}) > 40
    assert {player.region for player in people} == {"na", "sa", "eu", "ap", "oc", "af", "me"}
    assert len({player.display_name for player in people}) > 2000
    again = demo_players(game=game.pk, count=3000, now=timezone.now())
    assert [player.display_name for player in again] == [player.display_name for player in people]
