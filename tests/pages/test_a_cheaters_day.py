"""A cheater's day, as the operator who ends it sees it: found, looked at, banned, rolled back, undone."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from anticheat.models import Case, Rollback, Ruling
from anticheat.services.rollbacks import rollbacks_run
from config import entrance
from leaderboards.models import Mode
from players.models import Ban
from tests import live
from tests.anticheat.suspects import add_finding, make_case, make_crowd
from tests.leaderboards.spine import drain
from tests.pages.browser import Visitor

WINDOWS = ("daily", "weekly", "monthly", "alltime")
LOOKS = os.environ.get("RUNG_LOOKS")  # a folder for pictures of the pages, for whoever wants to look at them
HONEST = [(f"p{number:02}", number * 10) for number in range(12, 0, -1)]
CHEATED = [("nova", 900), *HONEST]


@pytest.fixture
def mode(web: live.Web) -> Mode:
    found = make_crowd(dimensions=["region"])
    found.game.players.filter(player_id__in=["nova", "p12"]).update(region="eu")
    return found


@pytest.fixture
def case(mode: Mode) -> Case:
    made = make_case(mode, rank=1, risk=0.92, priority=0.92)
    add_finding(made, 14, check="timing")
    make_case(mode, "p12", attempts=[12], rank=2, risk=0.3, priority=0.3)
    return made


def _boards(web: live.Web, mode: Mode) -> dict[str, list[tuple[str, int]]]:
    """As the API has them, once what was decided is on the boards."""
    rollbacks_run(now=datetime.now(UTC))
    drain(mode)
    found = {}
    for window in WINDOWS:
        path = f"/v1/games/arena/modes/solo/leaderboards/{window}?limit=50"
        answer = httpx.get(web.origin + path, timeout=60).json()
        found[window] = [(entry["player_id"], entry["score"]) for entry in answer["entries"]]
    return found


def _all(entries: list[tuple[str, int]]) -> dict[str, list[tuple[str, int]]]:
    return dict.fromkeys(WINDOWS, entries)


def _look(visitor: Visitor, name: str) -> None:
    for width, scheme in ((1440, "light"), (390, "dark"), (390, "light"), (1440, "dark")):
        visitor.look(width=width, scheme=scheme)
        assert visitor.width() <= width, f"{name} is {visitor.width()} wide on {width}"
        assert visitor.too_faint() == []
        if LOOKS:
            path = Path(LOOKS) / f"{name}-{width}-{scheme}.png"
            visitor.page.screenshot(path=str(path), full_page=True)
    visitor.look(width=1440, scheme="light")


def test_a_cheater_is_found_looked_at_banned_rolled_back_and_all_of_it_undone(
    operator: Visitor, web: live.Web, mode: Mode, case: Case
) -> None:
    page = operator.page
    assert _boards(web, mode) == _all(CHEATED)
    operator.visit("/admin/")
    _look(operator, "index")
    operator.visit("/admin/anticheat/case/")
    _look(operator, "queue")
    assert operator.submit("Next case n") == 200
    assert page.url == f"{web.origin}/admin/anticheat/case/{case.pk}/change/"
    assert "60 times what the player usually reaches" in operator.text()
    _look(operator, "case")

    page.locator("#id_preset").select_option("A modified game or outside help was used.")
    assert operator.submit("See what would happen") == 200
    assert "leaves every board of the game" in operator.text()
    assert page.locator(".moves-in").count() == len(WINDOWS)
    assert not Ban.objects.exists()
    _look(operator, "what-if")
    assert operator.submit("Ban") == 200
    assert "Banned: nova" in operator.text()
    assert page.url.endswith(f"/{Case.objects.get(player__player_id='p12').pk}/change/"), "the next one opened"
    assert _boards(web, mode) == _all(HONEST)

    ban = Ruling.objects.get(kind="ban")
    _undo(operator, ban)
    assert _boards(web, mode) == _all(CHEATED)

    operator.visit(f"/admin/anticheat/case/{case.pk}/change/")
    page.locator("#id_kind").select_option("rollback")
    page.locator("#id_preset").select_option("A fault of the game was exploited.")
    assert operator.submit("See what would happen") == 200
    assert "2 attempts will be taken back" in operator.text()
    assert operator.submit("Roll back") == 200
    assert _boards(web, mode) == _all(HONEST)
    operator.visit(f"/admin/anticheat/rollback/{Rollback.objects.get().pk}/change/")
    assert "100 %" in operator.text()
    _look(operator, "rollback")
    _undo(operator, Ruling.objects.get(kind="rollback"))
    assert _boards(web, mode) == _all(CHEATED)
    operator.visit(f"/admin/players/player/{case.player_id}/change/")
    _look(operator, "player")


def _undo(operator: Visitor, ruling: Ruling) -> None:
    operator.visit(f"/admin/anticheat/ruling/{ruling.pk}/change/")
    operator.page.get_by_label("Why").fill("The video shows a fair run.")
    _look(operator, f"ruling-{ruling.kind}")
    assert operator.submit("Undo") == 200
    assert "as if it had not been ruled" in operator.text()


@pytest.mark.parametrize(
    ("key", "state", "top"), [("r", "cleared", "nova"), ("c", "confirmed", "p12"), ("w", "watching", "nova")]
)
def test_one_key_decides(  # noqa: PLR0913, PLR0917
    operator: Visitor, web: live.Web, mode: Mode, case: Case, key: str, state: str, top: str
) -> None:
    operator.visit(f"/admin/anticheat/case/{case.pk}/change/")
    operator.page.locator("[name=note]").first.focus()
    operator.page.keyboard.press(key)
    assert operator.page.locator("[name=note]").first.input_value() == key, "whoever types a note decides nothing"
    assert operator.page.locator("form[data-sent]").count() == 0
    operator.page.locator("[name=note]").first.evaluate("element => element.blur()")
    operator.page.keyboard.press(key)
    operator.page.wait_for_url("**/case/*/change/")
    operator.page.wait_for_selector(".messagelist")
    case.refresh_from_db()
    assert case.state == state
    assert _boards(web, mode)["alltime"][0][0] == top


def test_the_other_keys_open_the_form_put_off_and_go_on(operator: Visitor, mode: Mode, case: Case) -> None:
    operator.visit(f"/admin/anticheat/case/{case.pk}/change/")
    operator.page.keyboard.press("b")
    assert operator.page.evaluate("document.activeElement.id") == "id_kind"
    operator.page.locator("#id_kind").evaluate("element => element.blur()")
    operator.page.keyboard.press("?")
    assert operator.page.locator("#keys.loud").count() == 1
    other = Case.objects.get(player__player_id="p12")
    operator.page.keyboard.press("s")
    operator.page.wait_for_url(f"**/case/{other.pk}/change/")
    operator.page.keyboard.press("n")
    operator.page.wait_for_selector(".messagelist", state="detached")  # the page before had one
    case.refresh_from_db()
    assert case.snoozed_until is not None


def test_without_javascript_a_cheater_is_banned_all_the_same(
    new_visitor: Callable[..., Visitor], web: live.Web, mode: Mode, case: Case
) -> None:
    plain = new_visitor(java_script_enabled=False)
    plain.visit(entrance.new_link(web.origin))
    plain.visit("/admin/anticheat/case/")
    assert plain.submit("Next case n") == 200
    plain.page.locator("#id_preset").select_option(index=1)
    plain.page.locator("#id_kind").select_option("suspend")
    plain.page.locator("#id_until").select_option("30d")
    assert plain.submit("See what would happen") == 200
    assert plain.submit("Suspend") == 200
    assert _boards(web, mode) == _all(HONEST)
    assert Ban.objects.get().ends_at is not None


def test_a_rollback_is_started_from_its_own_page(operator: Visitor, web: live.Web, mode: Mode) -> None:
    page: Any = operator.page
    operator.visit("/admin/anticheat/rollback/add/")
    page.locator("#id_game").select_option("arena")
    page.locator("#id_mode").fill("solo")
    page.locator("#id_player_id").fill("nova")
    page.locator("#id_since").fill("2026-01-01T00:00")
    page.locator("#id_preset").select_option(index=1)
    assert operator.submit("See what would happen") == 200
    _look(operator, "rollback-preview")
    assert "2 attempts of 1 player will be taken back" in operator.text()
    assert operator.submit("Take them back") == 200
    assert _boards(web, mode) == _all(HONEST)
    operator.visit("/admin/anticheat/rollback/")
    _look(operator, "rollbacks")
    operator.visit("/admin/trust/search?q=nov")
    assert operator.follow("nova") == 200
