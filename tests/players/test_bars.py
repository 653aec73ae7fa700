"""Who may not submit, and who alone sees itself, is remembered, and forgotten at once when a ban comes or goes."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from players import bars, shadows
from players.models import Ban, Player
from tests.factories import make_game, make_mode, make_player
from tests.hearing import all_heard

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def player() -> Player:
    return make_player(make_game())


def _barred(player: Player, after: timedelta = timedelta()) -> bool:
    return bool(bars.players_barred([player.pk, player.pk + 1], at=timezone.now() + after))


def test_a_ban_holds_at_once_and_no_longer_than_it_is_there(player: Player) -> None:
    all_heard()
    assert not _barred(player)
    ban = Ban.objects.create(player=player, reason="cheated")
    assert _barred(player)
    ban.delete()
    assert not _barred(player)


def test_a_ban_begins_and_ends_by_itself_while_it_is_remembered(player: Player) -> None:
    Ban.objects.create(
        player=player, reason="cheated", starts_at=timezone.now() + HOUR, ends_at=timezone.now() + 2 * HOUR
    )
    all_heard()
    assert [_barred(player, after=hours * HOUR) for hours in (0, 1.5, 2.5)] == [False, True, False]


def test_who_is_shadow_banned_does_not_notice(player: Player) -> None:
    Ban.objects.create(player=player, kind=Ban.Kind.SHADOW, reason="cheated")
    assert not _barred(player)


@pytest.mark.parametrize(("few", "queries"), [(2, 0), (1, 2)], ids=["few", "too many to remember"])
def test_few_are_remembered_and_many_are_asked_for(
    player: Player, few: int, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "_FEW", few)
    for one in (player, make_player(player.game)):
        Ban.objects.create(player=one, reason="cheated")
    all_heard()
    assert _barred(player)
    with CaptureQueriesContext(connection) as asked:
        assert _barred(player)
        assert _barred(player)
    assert len(asked) == queries


def _shadowed(player: Player, *, mode: int = 7) -> int | None:
    return shadows.player_shadowed(player.game_id, player.player_id or "", mode=mode, at=timezone.now())


def test_a_bar_says_from_which_mode(player: Player) -> None:
    mode = make_mode(player.game)
    Ban.objects.create(player=player, mode=mode, reason="cheated")
    assert bars.players_barred([player.pk], at=timezone.now()) == {(player.pk, mode.pk)}
    Ban.objects.create(player=player, reason="cheated")
    assert bars.players_barred([player.pk], at=timezone.now()) == {(player.pk, mode.pk), (player.pk, None)}


@pytest.mark.parametrize(("few", "queries"), [(1, 0), (0, 2)], ids=["few", "too many to remember"])
def test_few_shadows_are_remembered_and_many_are_asked_for(
    player: Player, few: int, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadows, "_FEW", few)
    all_heard()
    assert _shadowed(player) is None
    ban = Ban.objects.create(player=player, kind=Ban.Kind.SHADOW, reason="cheated")
    assert _shadowed(player) == player.pk
    all_heard()  # told to oneself as well
    assert _shadowed(player) == player.pk
    with CaptureQueriesContext(connection) as asked:
        assert _shadowed(player) == player.pk
        assert _shadowed(_namesake(player)) is None
    assert len(asked) == queries
    ban.delete()
    assert _shadowed(player) is None


def _namesake(player: Player) -> Player:
    """Of the same id, in no game that there is."""
    return Player(game_id=player.game_id + 1, player_id=player.player_id)


@pytest.mark.parametrize("kind", [Ban.Kind.BAN, Ban.Kind.SHADOW])
@pytest.mark.parametrize("ends", ["9999-12-31 23:59:59+00", "10000-01-01 13:59:59+00"])
def test_a_ban_that_ends_after_all_calendars_is_read_as_one_for_ever(player: Player, kind: str, ends: str) -> None:
    ban = Ban.objects.create(player=player, kind=kind, reason="cheated")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE players_ban SET ends_at = %s WHERE id = %s", [ends, ban.pk])
    all_heard()
    barred = kind == Ban.Kind.BAN
    shadowed = shadows.player_shadowed(player.game_id, str(player.player_id), mode=1, at=timezone.now())
    assert (_barred(player), shadowed == player.pk) == (barred, not barred)
