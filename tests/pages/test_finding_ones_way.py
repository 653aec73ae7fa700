"""One walk through all that players meet; what needs no JavaScript is the same without."""

from collections.abc import Callable

import pytest

from tests.factories import make_token
from tests.pages.browser import Visitor
from tests.pages.scenes import make_full_game

BOARD = "/g/arena/solo/daily"


def _names(visitor: Visitor, within: str = "[data-rows]") -> list[str]:
    names: list[str] = visitor.page.locator(f"{within} .entry .name").all_inner_texts()
    return names


def _words(visitor: Visitor, part: str) -> str:
    return " ".join(visitor.page.locator(part).inner_text().split())


def _walk_the_board(visitor: Visitor) -> None:
    page = visitor.page
    assert visitor.follow("Next") == 200
    assert _names(visitor) == [f"Runner {number}" for number in range(51, 101)]
    page.get_by_label("Go to rank").fill("117")
    assert visitor.submit("Go") == 200
    assert page.locator('[data-rank="117"] .name').inner_text() == "Runner 117"
    page.get_by_label("Who is ranked").select_option("country:NZ")
    assert visitor.submit("Show") == 200
    assert _names(visitor)[:2] == ["Runner 1", "Runner 5"]
    assert visitor.follow("All time") == 200
    assert page.get_by_role("link", name="All time").get_attribute("aria-current") == "page"
    assert (_names(visitor)[0], len(_names(visitor))) == ("Runner 1", 30), "the scope stays"
    page.get_by_role("searchbox", name="Find a player").fill("runner 11")
    assert visitor.submit("Find") == 200
    assert _names(visitor, ".found")[:3] == ["Runner 113", "Runner 117", "Runner 11"], "who is ranked here first"


def _look_at_somebody(visitor: Visitor) -> None:
    visitor.page.locator(".found .entry a").first.click()
    visitor.page.get_by_role("heading", name="Runner 113").wait_for()
    assert visitor.page.get_by_role("img", name="best score").is_visible()
    ranks = _words(visitor, "main")
    assert "Everyone #113" in ranks
    assert "Your last attempts" not in ranks


@pytest.mark.parametrize("scripted", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_player_finds_its_way_from_the_first_page_to_its_own(
    new_visitor: Callable[..., Visitor], *, scripted: bool
) -> None:
    game = make_full_game()
    visitor = new_visitor(java_script_enabled=scripted)
    page = visitor.page
    assert visitor.visit("/") == 200
    assert visitor.follow("Arena") == 200
    assert visitor.follow("Solo") == 200
    page.get_by_text("Live" if scripted else "As of", exact=scripted).wait_for()
    _walk_the_board(visitor)
    _look_at_somebody(visitor)

    assert visitor.visit(f"/g/arena/enter?token={make_token(game, 'p-70')}&next={BOARD}") == 200
    assert page.url.endswith(BOARD)
    assert _names(visitor, "[data-pinned]")[:3] == ["Runner 68", "Runner 69", "Runner 70"]
    assert page.locator("[data-pinned] .mine .name").inner_text() == "Runner 70"
    own = _words(visitor, ".card.you")
    assert "#70" in own
    assert "1 point to #69, Runner 69" in own
    assert visitor.follow("Your profile") == 200
    assert "99,931" in _words(visitor, "main")
    assert page.get_by_role("heading", name="Your last attempts").is_visible()

    assert visitor.submit("Deutsch") == 200
    assert page.locator("html").get_attribute("lang") == "de"
    assert "99.931" in _words(visitor, "main")
    assert visitor.submit("English") == 200
    assert visitor.submit("Sign out") == 200
    assert "Your last attempts" not in visitor.text()
    visitor.visit(BOARD)
    assert page.locator(".card.you").count() == 0
