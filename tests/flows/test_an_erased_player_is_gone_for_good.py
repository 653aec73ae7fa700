"""Erasure: what was known is gone, and what was revoked with it stays revoked."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from players.models import Ban, ErasedId, Player
from players.tasks import erased_ids_sweep
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_player, make_token

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 4, 5, 12, tzinfo=UTC)


def test_a_token_from_before_the_erasure_does_not_bring_the_player_back(api: ApiClient) -> None:
    game = make_game("arena")
    make_player(game, "p-1")
    with time_machine.travel(NOON, tick=False):
        old = make_token(game, "p-1")
    with time_machine.travel(NOON + timedelta(minutes=1), tick=False):
        assert api.delete("/v1/games/arena/players/p-1", credential=make_key(game)).status_code == 204
    with time_machine.travel(NOON + timedelta(minutes=2), tick=False):
        assert api.put("/v1/games/arena/players/p-1", credential=old, json={}).status_code == 401
        new = make_token(game, "p-1")
        assert api.put("/v1/games/arena/players/p-1", credential=new, json={}).status_code == 201
        assert api.put("/v1/games/arena/players/p-1", credential=old, json={}).status_code == 401


def test_what_is_kept_of_an_erased_id_does_not_hold_the_id_and_goes_after_a_day(api: ApiClient) -> None:
    game = make_game("arena")
    make_player(game, "someone@example.com")
    with time_machine.travel(NOON, tick=False):
        api.delete("/v1/games/arena/players/someone@example.com", credential=make_key(game))
    kept = ErasedId.objects.get()
    assert b"someone" not in bytes(kept.digest)
    assert not Player.objects.filter(player_id__contains="someone").exists()
    with time_machine.travel(NOON + timedelta(hours=24), tick=False):
        erased_ids_sweep()
        assert ErasedId.objects.exists()
    with time_machine.travel(NOON + timedelta(hours=26), tick=False):
        erased_ids_sweep()
        assert not ErasedId.objects.exists()


def test_erasing_oneself_is_no_way_out_of_a_ban(api: ApiClient) -> None:
    game = make_game("arena")
    player = make_player(game, "p-1")
    with time_machine.travel(NOON, tick=False):
        Ban.objects.create(player=player, reason="botting", ends_at=NOON + timedelta(days=30))
        Ban.objects.create(player=player, reason="over", starts_at=NOON - timedelta(days=9), ends_at=NOON)
        api.delete("/v1/games/arena/players/p-1", credential=make_token(game, "p-1"))
    with time_machine.travel(NOON + timedelta(days=2), tick=False):
        erased_ids_sweep()
        assert api.put("/v1/games/arena/players/p-1", credential=make_token(game, "p-1"), json={}).status_code == 201
        again = Player.objects.get(player_id="p-1")
        assert [ban.ends_at for ban in Ban.objects.active(NOON + timedelta(days=2)).filter(player=again)] == [
            NOON + timedelta(days=30)
        ]
    with time_machine.travel(NOON + timedelta(days=31), tick=False):
        erased_ids_sweep()
        assert not ErasedId.objects.exists()
