"""The first page: which games there are, their live boards, how they are played."""

from collections.abc import Callable

from tests.factories import make_game, make_mode
from tests.pages.browser import Visitor
from tests.pages.scenes import make_crowded_game, play


def test_a_public_game_shows_the_top_of_its_modes_and_who_plays(visitor: Visitor) -> None:
    game = make_crowded_game()
    play(game, "arcade", {"nova": 900, "wide": 400})
    assert visitor.visit("/") == 200
    assert visitor.page.title() == "Games · Rung"
    shown = visitor.page.get_by_role("article", name="Skyline")
    assert "14 players, 1 seen today" in " ".join(shown.inner_text().split())
    arcade, lap, old = (shown.get_by_role("region", name=name, exact=False) for name in ("Arcade", "Lap", "Old"))
    assert arcade.locator(".entry .name").all_inner_texts() == ["Nova", "W" * 64]
    assert arcade.locator(".entry .score").all_inner_texts() == ["900", "400"]
    assert arcade.get_by_role("img", name="Germany").inner_text() == "🇩🇪"
    assert "The best score counts, higher is better" in arcade.inner_text()
    assert "Resets in" in arcade.inner_text()
    assert "No score yet" in lap.inner_text()
    assert "lower is better, equal scores share a rank. Days begin at midnight, Europe/Berlin." in lap.inner_text()
    assert "All scores add up" in old.inner_text()
    assert "closed" in old.inner_text()
    assert visitor.follow("Skyline") == 200
    assert visitor.page.get_by_role("heading", name="Just happened").is_visible()
    assert visitor.follow("Arcade") == 200
    assert visitor.page.title() == "Arcade, Today · Skyline"


def test_a_private_game_is_not_shown(visitor: Visitor) -> None:
    make_game("hidden-gem", public=False)
    make_game("open-field")
    visitor.visit("/")
    assert visitor.page.locator("h2").all_inner_texts() == ["Open-Field"]
    assert "hidden-gem" not in visitor.page.content().lower()


def test_without_games_the_page_says_how_to_declare_one(visitor: Visitor) -> None:
    assert visitor.visit("/") == 200
    assert "No public game yet" in visitor.text()
    assert "manage.py apply_config games.toml" in visitor.text()


def test_what_players_and_operators_write_is_text_and_never_markup(visitor: Visitor) -> None:
    game = make_game("arena")
    make_mode(game, title="<b>bold</b>", description="<script>alert(1)</script>")
    play(game, "solo", {"<img src=x onerror=alert(1)>": 7})
    visitor.visit("/")
    for written in ("<b>bold</b>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"):
        assert written in visitor.text()


def test_without_javascript_the_page_is_the_same(new_visitor: Callable[..., Visitor]) -> None:
    play(make_crowded_game(), "arcade", {"nova": 900})
    plain, scripted = new_visitor(java_script_enabled=False), new_visitor()
    for visitor in (plain, scripted):
        visitor.visit("/")
    tables = [visitor.page.locator("table").all_inner_texts() for visitor in (plain, scripted)]
    assert tables[0] == tables[1]
