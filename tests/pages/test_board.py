"""A board's page, looked at by a person: with JavaScript off it is complete."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.factories import make_game, make_mode, make_player
from tests.pages.browser import Visitor
from tests.pages.scenes import play

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def plain(new_visitor: Callable[..., Visitor]) -> Visitor:
    return new_visitor(java_script_enabled=False)


def _make_arena(players: int = 120) -> None:
    game = make_game("arena")
    make_mode(game, min_score=0, max_score=1_000_000, grace_seconds=7 * 24 * 3600, description="One run, one score.")
    make_mode(game, "lap", order="asc", decimals=3)
    for number in range(players):
        country = "DE" if number % 2 else "NZ"
        make_player(game, f"p-{number}", display_name=f"Runner {number}", country=country, region="eu")
    play(game, "solo", {f"p-{number}": 1000 + number for number in range(3)}, at=timezone.now() - timedelta(days=1))
    play(game, "solo", {f"p-{number}": 100_000 - number for number in range(players)})


def _names(visitor: Visitor, within: str = "[data-rows]") -> list[str]:
    return visitor.page.locator(f"{within} .entry .name").all_inner_texts()


def test_the_whole_board_can_be_walked_without_javascript(plain: Visitor) -> None:
    _make_arena()
    page = plain.page
    assert plain.visit("/g/arena/solo") == 200
    assert page.url.endswith("/g/arena/solo/daily")
    first = page.locator("[data-rows] .entry").first
    assert " ".join(first.inner_text().split()).startswith("1 2 Up 2 since yesterday R")
    assert first.locator(".score").inner_text() == "100,000"
    assert first.get_by_role("img", name="NZ").inner_text() == "🇳🇿"
    assert (
        page.locator("[data-rows] .entry").nth(3).locator(".move").inner_text() == "New here: not on the board before."
    )
    assert page.locator("#total").inner_text() == "120"
    assert "Resets in" in page.locator(".stats").inner_text()
    assert "Scores reach from 99,881 to 100,000" in page.get_by_role("img", name="Scores reach").get_attribute(
        "aria-label"
    )
    assert page.locator("link[rel=next]").get_attribute("href").endswith("page=2")

    assert plain.follow("Next") == 200
    assert _names(plain)[0] == "Runner 50"
    assert plain.follow("Last") == 200
    assert len(_names(plain)) == 20
    assert page.get_by_role("link", name="Next").count() == 0
    assert plain.follow("First") == 200
    assert page.locator("[data-rows] .entry").count() == 50

    page.get_by_label("Go to rank").fill("77")
    assert plain.submit("Go") == 200
    assert page.locator('[data-rank="77"] .name').inner_text() == "Runner 76"

    page.get_by_label("Who is ranked").select_option("country:DE")
    assert plain.submit("Show") == 200
    assert _names(plain)[:2] == ["Runner 1", "Runner 3"]
    assert page.locator("#total").inner_text() == "60"
    assert plain.follow("All time") == 200
    assert page.get_by_label("Who is ranked").input_value() == "country:DE"
    assert page.get_by_role("link", name="All time").get_attribute("aria-current") == "page"


def test_a_player_is_found_by_how_the_name_begins_and_nobody_is_said_so(plain: Visitor) -> None:
    _make_arena(players=30)
    plain.visit("/g/arena/solo/daily")
    plain.page.get_by_role("searchbox", name="Find a player").fill("runner 2")
    assert plain.submit("Find") == 200
    assert len(_names(plain, ".found")) == 11
    assert plain.page.locator(".found .entry").first.locator(".rank").inner_text() == "3"
    plain.page.get_by_role("searchbox", name="Find a player").fill("<b>nobody")
    assert plain.submit("Find") == 200
    assert "Nobody here" in plain.page.locator(".found").inner_text()
    assert plain.page.locator(".found h2 bdi").text_content() == "<b>nobody"
    assert plain.follow("Back to the whole board") == 200


def test_an_empty_board_says_how_to_fill_it_and_how_to_show_it_elsewhere(plain: Visitor) -> None:
    make_mode(make_game("arena"), title='A "quoted" mode')
    assert plain.visit("/g/arena/solo/weekly") == 200
    assert plain.page.get_by_role("heading", name="No score yet").is_visible()
    assert (
        plain.page.get_by_role("link", name="Send the first score").get_attribute("href") == "/g/arena/solo/integrate"
    )
    plain.page.get_by_text("Put this board on your site").click()
    assert (
        '/embed/arena/solo/weekly" title="A &quot;quoted&quot; mode"' in plain.page.locator("details code").inner_text()
    )
    assert plain.visit("/g/arena") == 200
    assert "No score yet" in plain.text()


def test_the_page_can_be_read_in_another_language(new_visitor: Callable[..., Visitor]) -> None:
    _make_arena(players=3)
    visitor = new_visitor(locale="de-DE")
    visitor.visit("/g/arena/solo/daily")
    assert visitor.page.locator("html").get_attribute("lang") == "de"
    assert visitor.page.locator("[data-rows] .score").first.inner_text() == "100.000"
    assert visitor.page.get_by_role("img", name="Neuseeland").count() == 2
    assert visitor.submit("English") == 200
    assert visitor.page.locator("html").get_attribute("lang") == "en"
    assert visitor.page.url.endswith("/g/arena/solo/daily")
