"""Bans end by themselves, and the database itself refuses what must not be."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from players.models import Ban, Game, Player
from tests.factories import make_game, make_player

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 4, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


def _ban(kind: str = Ban.Kind.BAN, *, starts: datetime = NOON, ends: datetime | None = None) -> Ban:
    player = make_player(make_game())
    return Ban.objects.create(player=player, kind=kind, starts_at=starts, ends_at=ends, reason="cheating")


@pytest.mark.parametrize(
    ("starts", "ends", "holds"),
    [
        (NOON, None, True),
        (NOON - HOUR, None, True),
        (NOON + HOUR, None, False),
        (NOON - HOUR, NOON + HOUR, True),
        (NOON - HOUR, NOON, False),
        (NOON - HOUR, NOON + timedelta(microseconds=1), True),
        (NOON, NOON + HOUR, True),
        (NOON + timedelta(microseconds=1), NOON + HOUR, False),
    ],
)
def test_a_ban_holds_from_its_start_up_to_its_end(starts: datetime, ends: datetime | None, holds: bool) -> None:
    ban = _ban(starts=starts, ends=ends)
    assert list(Ban.objects.active(NOON)) == ([ban] if holds else [])


def test_a_suspension_ends_by_itself() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        ban = _ban(Ban.Kind.SUSPENSION, ends=NOON + HOUR)
        assert list(ban.player.bans.active(timezone.now())) == [ban]
        clock.shift(HOUR)
        assert not ban.player.bans.active(timezone.now()).exists()


def test_the_database_refuses_a_ban_that_ends_before_it_starts_and_a_suspension_without_end() -> None:
    for kind, ends in ((Ban.Kind.BAN, NOON), (Ban.Kind.BAN, NOON - HOUR), (Ban.Kind.SUSPENSION, None)):
        with pytest.raises(IntegrityError), transaction.atomic():
            _ban(kind, ends=ends)


def test_a_ban_says_what_it_is() -> None:
    assert str(_ban()).startswith("ban of p-")
    assert str(_ban()).endswith("for ever")
    assert str(_ban(Ban.Kind.SUSPENSION, ends=NOON + HOUR)).endswith("until 2026-04-05 13:00 UTC")


def test_an_id_is_once_in_its_game_and_free_in_another() -> None:
    arena = make_game()
    make_player(arena, "p-1")
    make_player(make_game(), "p-1")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_player(arena, "p-1")


@pytest.mark.parametrize("wrong", [{"ends_at": NEVER}, {"starts_at": datetime(1, 1, 1, tzinfo=UTC), "ends_at": NOON}])
def test_a_form_refuses_a_ban_between_moments_that_nobody_can_keep(wrong: dict[str, datetime]) -> None:
    ban = Ban(player=make_player(make_game()), reason="cheating")
    for name, at in wrong.items():
        setattr(ban, name, at)
    with pytest.raises(ValidationError) as refused:
        ban.full_clean()
    assert list(refused.value.message_dict) == [next(iter(wrong))]


def test_a_player_without_an_id_is_an_erased_one() -> None:
    arena = make_game()
    with pytest.raises(IntegrityError), transaction.atomic():
        Player.objects.create(game=arena, player_id=None)
    for _ in range(2):
        Player.objects.create(game=arena, player_id=None, erased_at=NOON)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("display_name", " \u200b "),
        ("display_name", "A\u202eB"),
        ("country", "XX"),
        ("region", "EU!"),
        ("player_id", "a/b"),
        ("avatar_url", "javascript:alert(1)"),
    ],
)
def test_a_form_is_held_to_the_rules_of_the_api(field: str, value: str) -> None:
    player = make_player(make_game())
    setattr(player, field, value)
    with pytest.raises(ValidationError) as refused:
        player.full_clean()
    assert field in refused.value.message_dict


def test_a_form_tidies_as_the_api_does() -> None:
    player = make_player(make_game(), display_name="  Jo\u0308rg ", country="de")
    player.full_clean()
    assert (player.display_name, player.country) == ("Jörg", "DE")


@pytest.mark.parametrize("slug", ["Arena", "-arena", "arena\n", "a b", "ärena", "", "a" * 51])
def test_a_slug_is_one_that_addresses_and_keys_can_hold(slug: str) -> None:
    with pytest.raises(ValidationError):
        Game(slug=slug, title="x").full_clean()


def test_each_game_has_a_signing_secret_of_its_own_that_nothing_shows() -> None:
    one, other = make_game(), make_game()
    assert len(one.signing_secret) == 64
    assert one.signing_secret != other.signing_secret
    assert one.signing_secret not in f"{one!r} {one}"
