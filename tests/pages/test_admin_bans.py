"""Bans in the admin: what makes no sense is answered with a sentence, and who banned is written down."""

from datetime import UTC, datetime

import pytest

from players.models import Ban, Player
from tests.factories import make_game, make_player
from tests.pages.browser import Visitor


def _open_form(operator: Visitor, player: Player) -> None:
    operator.visit(f"/admin/players/player/{player.pk}/change/")
    operator.page.get_by_text("Add another Ban").click()
    operator.page.locator("#id_bans-0-reason").fill("speed hack")


@pytest.mark.parametrize(
    ("kind", "ends", "sentence"),
    [
        ("suspension", "", "A suspension needs an end; one without is a ban."),
        ("ban", "2001-01-01", "It must end after it starts."),
        ("suspension", "2001-01-01", "It must end after it starts."),
        ("ban", "someday", "Enter a valid date."),
    ],
)
def test_a_ban_that_makes_no_sense_is_refused_with_a_sentence(
    operator: Visitor, kind: str, ends: str, sentence: str
) -> None:
    _open_form(operator, make_player(make_game()))
    operator.page.locator("#id_bans-0-kind").select_option(kind)
    operator.page.locator("#id_bans-0-ends_at_0").fill(ends)
    operator.page.locator("#id_bans-0-ends_at_1").fill("12:00:00" if ends else "")
    assert operator.submit() == 200
    assert operator.page.locator(".errorlist:not(.nonfield) li").all_inner_texts() == [sentence]
    assert not Ban.objects.exists()


def test_a_ban_from_the_player_page_says_who_made_it(operator: Visitor) -> None:
    player = make_player(make_game())
    _open_form(operator, player)
    assert operator.submit() == 200
    ban = Ban.objects.select_related("made_by").get()
    assert (ban.player_id, ban.reason) == (player.pk, "speed hack")
    assert ban.made_by is not None
    assert ban.made_by.username == "operator"


def test_a_ban_from_its_own_form_finds_the_player_by_typing(operator: Visitor) -> None:
    player = make_player(make_game(), "p-17", display_name="Nova")
    operator.visit("/admin/players/ban/add/")
    page = operator.page
    page.locator(".select2-selection").click()
    page.locator(".select2-search__field").fill("p-1")
    page.locator(".select2-results__option", has_text="p-17").click()
    page.locator("#id_reason").fill("speed hack")
    assert operator.submit() == 200
    assert Ban.objects.get().player == player


def test_whoever_was_erased_cannot_be_named_again(operator: Visitor) -> None:
    player = make_player(make_game(), display_name="Nova")
    Player.objects.update(player_id=None, display_name="", erased_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert operator.visit(f"/admin/players/player/{player.pk}/change/") == 200
    assert operator.page.get_by_role("button", name="Save", exact=True).count() == 0
