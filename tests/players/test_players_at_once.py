"""A player registered, changed and erased by many servers in the same moment is one player, or none."""

import pytest
from django.db import transaction
from django.utils import timezone

from players.errors import PlayerNotFound
from players.models import Player
from players.services import player_erase, player_upsert
from players.wire import PlayerUpsert
from tests.at_once import at_once
from tests.factories import make_game, make_player, record_of


@pytest.mark.django_db(transaction=True)
def test_a_new_player_sent_by_eight_servers_at_once_is_one_player() -> None:
    game = make_game("arena")

    def upsert(number: int) -> bool:
        wanted = PlayerUpsert(display_name=f"Nova {number}")
        return player_upsert(game=record_of(game), player_id="p-1", wanted=wanted, at=timezone.now())[1]

    for _ in range(5):
        made = at_once(upsert)
        assert sorted(made, key=str) == [False] * 7 + [True]
        assert Player.objects.filter(player_id="p-1").count() == 1
        player_erase(game=record_of(game), player_id="p-1", at=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_erasing_while_others_change_the_player_never_brings_its_name_back() -> None:
    game = make_game("arena")
    with transaction.atomic():
        make_player(game, "p-1", display_name="Nova", country="DE")

    def act(number: int) -> object:
        for _ in range(15):
            if number % 2:
                try:
                    player_erase(game=record_of(game), player_id="p-1", at=timezone.now())
                except PlayerNotFound:
                    continue
            else:
                player_upsert(
                    game=record_of(game), player_id="p-1", wanted=PlayerUpsert(region="eu"), at=timezone.now()
                )
        return None

    assert at_once(act) == [None] * 8
    assert not Player.objects.exclude(display_name__in=["", "p-1"]).exists()
    assert not Player.objects.exclude(country="").exists()
    assert not Player.objects.filter(erased_at__isnull=False).exclude(display_name="", region="").exists()
    assert Player.objects.filter(erased_at__isnull=True).count() <= 1
