"""Erasure: what was known is gone, and what was revoked with it stays revoked."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from leaderboards import commit
from leaderboards.services.housekeeping import erased_attempts_scrub
from players.models import Ban, ErasedId, Player
from players.services import player_erase
from players.tasks import erased_ids_sweep
from tests.at_once import at_once
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of

pytestmark = pytest.mark.django_db
SCORES = "/v1/games/arena/modes/solo/scores"
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


@pytest.mark.django_db(transaction=True)
def test_what_came_with_a_score_that_was_on_its_way_goes_too(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erasure cannot see it yet; whoever tidies up a little later does."""
    mode = make_mode(make_game("arena"))
    key, write = make_key(mode.game), commit._write  # noqa: SLF001
    player = make_player(mode.game, "p-1")
    other = {"player_id": "p-2", "score": 5, "metadata": {"of": "somebody else"}}

    def erase_then_write(*args: Any) -> Any:
        at_once(lambda _: player_erase(game=record_of(mode.game), player_id="p-1", at=timezone.now()), threads=1)
        return write(*args)

    assert api("POST", SCORES, credential=key, json=other).status_code == 202
    with monkeypatch.context() as patched:
        patched.setattr(commit, "_write", erase_then_write)
        sent = {"player_id": "p-1", "score": 5, "metadata": {"who": "me"}, "client": {"address": "203.0.113.9"}}
        assert api("POST", SCORES, credential=key, json=sent).status_code == 202
    assert erased_attempts_scrub(now=timezone.now()) == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT metadata, client FROM score_attempts WHERE player_id = %s", [player.pk])
        assert cursor.fetchall() == [(None, None)]
    assert erased_attempts_scrub(now=timezone.now()) == 0
    assert api.get("/v1/games/arena/players/p-2/attempts", credential=key).json()["attempts"][0]["metadata"]
