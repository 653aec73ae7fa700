"""Erasing a player also takes back what operators wrote about it, and where it was when it asked for that."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import connection

from anticheat.models import AuditEntry, Case, Finding, Ruling
from anticheat.services.rulings import ruling_make, ruling_undo
from config.audit import HOUSE
from leaderboards.models import Mode
from players.models import Ban, Player
from players.services import player_erase
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "Jane Doe"
Kind = Ruling.Kind


@pytest.fixture
def solo() -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number, player in enumerate(("jane", "other"), start=1):
        submit(mode, player, number, datetime.now(UTC), number)
    return mode


def _written_about(mode: Mode, player: Player, number: int) -> None:
    """All that people can write of a player, and what a check did."""
    now = datetime.now(UTC)
    case = Case.objects.create(game=mode.game, mode=mode, player=player, note=WORDS)
    Finding.objects.create(
        case=case,
        attempt=number,
        attempt_id=UUID(int=number),
        received_at=now,
        score=1,
        check_name="devices",
        verdict="flag",
        risk=0.5,
        reason=WORDS,
        details={"device": WORDS},
    )
    for kind in (Kind.BAN, Kind.REJECT, Kind.REJECT):
        ruling = Ruling(kind=kind, game=mode.game, mode=mode, player=player, reason=WORDS, note=WORDS)
        made = ruling_make(ruling=ruling, by=HOUSE, now=now, attempts=[UUID(int=number)])
    ruling_undo(ruling=made, by=HOUSE, now=now, why=WORDS)  # the player is still told by the one before


def _kept(player: Player) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reasons FROM score_attempts WHERE player_id = %s", [player.pk])
        rows = cursor.fetchall()
    tables = (Case.objects.filter(player=player), Finding.objects.filter(case__player=player))
    tables += (Ruling.objects.filter(player=player), Ban.objects.filter(player=player))  # type: ignore[assignment]
    return repr([rows, *(list(table.values()) for table in tables)])


def test_what_operators_wrote_about_a_player_goes_with_it_and_nothing_of_others(solo: Mode) -> None:
    players = [Player.objects.get(player_id=one) for one in ("jane", "other")]
    for number, player in enumerate(players, start=1):
        _written_about(solo, player, number)
    before = [_kept(player) for player in players]
    assert [one.count(WORDS) for one in before] == [12, 12]
    player_erase(game=record_of(solo.game), player_id="jane", at=datetime.now(UTC))
    assert WORDS not in _kept(players[0])
    assert _kept(players[1]) == before[1]
    assert Ruling.objects.filter(player=players[0]).count() == 3, "that it was ruled, and how, stays"


def test_the_audit_does_not_know_where_a_player_was_that_erased_itself(api: ApiClient) -> None:
    game = make_game("arena")
    for player_id, credential in (("jane", make_token(game, "jane")), ("other", make_key(game))):
        make_player(game, player_id)
        assert api.delete(f"/v1/games/arena/players/{player_id}", credential=credential).status_code == 204
    told = AuditEntry.objects.filter(verb="player.erase").order_by("seq").values_list("by", "address")
    assert [(by, bool(address)) for by, address in told] == [("player", False), ("key", True)]
