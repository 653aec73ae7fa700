"""API keys: stored as a hash, compared in constant time, good until revoked or expired."""

import hmac
import re
import time
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from config.recall import changes
from players import keys, lookups
from players.models import ApiKey
from players.scopes import Scope
from players.services import key_create, key_revoke
from tests.client import ApiClient
from tests.factories import make_game

SHAPE = re.compile(r"rung_[0-9a-f]{8}_[0-9a-f]{48}")


def test_a_key_has_192_random_bits_and_its_prefix_finds_it() -> None:
    made = [keys.new_key() for _ in range(50)]
    assert all(SHAPE.fullmatch(key.text) for key in made)
    assert len({key.text for key in made}) == 50
    assert all(keys.split(key.text) == (key.prefix, key.text.rpartition("_")[2]) for key in made)


def test_only_its_own_secret_proves_a_key() -> None:
    made, other = keys.new_key(), keys.new_key()
    assert keys.proves(made.text.rpartition("_")[2], made.secret_hash)
    assert not keys.proves(other.text.rpartition("_")[2], made.secret_hash)


@pytest.mark.parametrize("text", ["", "rung_", "rung_1_2", "RUNG_00000000_" + "0" * 48, "rung_00000000_" + "g" * 48])
def test_what_does_not_look_like_a_key_is_none(text: str) -> None:
    assert keys.split(text) is None


@pytest.mark.django_db
def test_the_secret_is_kept_nowhere() -> None:
    row, text = key_create(game=make_game(), scopes=list(Scope))
    secret = text.rpartition("_")[2]
    stored = ApiKey.objects.filter(pk=row.pk).values().get()
    assert secret not in repr(stored)
    assert secret.encode() not in bytes(stored["secret_hash"])
    assert secret not in str(row)
    assert secret not in repr(lookups.key(text))


def test_a_comparison_in_constant_time_is_what_decides(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("arena", public=False)
    good, also_good = (key_create(game=game, scopes=list(Scope))[1] for _ in range(2))
    assert api.get("/v1/games/arena", credential=good).status_code == 200
    monkeypatch.setattr(hmac, "compare_digest", lambda *_: False)
    assert api.get("/v1/games/arena", credential=also_good).status_code == 401
    monkeypatch.setattr(hmac, "compare_digest", lambda *_: True)
    assert api.get("/v1/games/arena", credential=good[:-1] + "x").status_code == 401, "not even of its shape"
    wrong = good[:14] + "0" * 48
    assert api.get("/v1/games/arena", credential=wrong).status_code == 200


def test_a_key_expires_on_the_second_although_it_is_remembered(api: ApiClient) -> None:
    game = make_game("arena", public=False)
    now = timezone.now()
    _, text = key_create(game=game, scopes=[Scope.READ], expires_at=now + timedelta(seconds=2))
    changes.begin_to_listen()
    while changes.epoch is None:
        time.sleep(0.01)
    with time_machine.travel(now, tick=False) as clock:
        assert api.get("/v1/games/arena", credential=text).status_code == 200
        clock.shift(1.9)
        assert api.get("/v1/games/arena", credential=text).status_code == 200
        clock.shift(0.1)
        assert api.get("/v1/games/arena", credential=text).status_code == 401


@pytest.mark.django_db
def test_revoking_twice_keeps_the_first_time() -> None:
    row, _ = key_create(game=make_game(), scopes=[Scope.READ])
    first = timezone.now()
    key_revoke(key=row, at=first)
    key_revoke(key=row, at=first + timedelta(days=1))
    row.refresh_from_db()
    assert row.revoked_at == first
    assert not row.valid_at(first + timedelta(days=400))


def test_when_a_key_was_last_used_is_known_to_the_minute(api: ApiClient) -> None:
    row, text = key_create(game=make_game("arena"), scopes=[Scope.READ])
    before = timezone.now()
    api.get("/v1/games/arena", credential=text)
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert row.last_used_at >= before


def test_scopes_are_read_in_their_own_order_and_unknown_ones_named() -> None:
    assert Scope.parse("read, submit") == [Scope.SUBMIT, Scope.READ]
    for wrong in ("", "reed", "read,write"):
        with pytest.raises(ValueError, match=r"^Scopes are submit, read, manage, moderate; "):
            Scope.parse(wrong)
