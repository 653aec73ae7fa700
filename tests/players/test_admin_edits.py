"""What an operator changes about a player goes the same way as what a game server changes."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from players.errors import PlayerNotFound
from players.models import Player
from players.services import player_edit, player_erase
from players.signals import player_changed
from tests.factories import make_game, make_player, record_of

pytestmark = pytest.mark.django_db


def no_stars(name: str, game: str) -> str | None:
    return "No stars." if "*" in name else None


@pytest.fixture
def heard() -> Iterator[list[dict[str, object]]]:
    found: list[dict[str, object]] = []

    def hear(before: dict[str, object], **_: object) -> None:
        found.append(before)

    player_changed.connect(hear, weak=False)
    yield found
    player_changed.disconnect(hear)


def _save(client: Client, player: Player, **fields: str) -> int:
    client.force_login(User.objects.create_superuser("operator"))
    form = {"display_name": player.display_name, "country": "", "region": "", "avatar_url": ""}
    bans = {"bans-TOTAL_FORMS": "0", "bans-INITIAL_FORMS": "0"}
    return client.post(f"/admin/players/player/{player.pk}/change/", form | bans | fields).status_code


def test_a_change_in_the_admin_is_heard(client: Client, heard: list[dict[str, object]]) -> None:
    player = make_player(make_game("arena"), "p-1", display_name="Nova")
    assert _save(client, player, region="eu", display_name=" Comet ") == 302
    player.refresh_from_db()
    assert (player.display_name, player.region) == ("Comet", "eu")
    assert heard == [{"display_name": "Nova", "region": ""}]


def test_the_studios_name_checks_hold_in_the_admin_too(client: Client, settings: Settings) -> None:
    settings.NAME_CHECKS = [f"{__name__}.no_stars"]
    player = make_player(make_game("arena"), "p-1", display_name="Nova")
    assert _save(client, player, display_name="St*r") == 200, "the form comes back"
    player.refresh_from_db()
    assert player.display_name == "Nova"


def test_a_form_opened_before_the_erasure_brings_no_name_back() -> None:
    game = make_game("arena")
    player = make_player(game, "p-1")
    player_erase(game=record_of(game), player_id="p-1", at=timezone.now())
    with pytest.raises(PlayerNotFound):
        player_edit(player=player, fields={"display_name": "Nova"})
    assert Player.objects.get(pk=player.pk).display_name == ""
