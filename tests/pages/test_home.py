"""The first page: which games there are, how they are played, who plays them."""

from collections.abc import Callable

from tests.factories import make_game, make_mode, make_player
from tests.pages.browser import Visitor
from tests.pages.scenes import make_crowded_game


def test_a_public_game_shows_its_modes_windows_and_players(visitor: Visitor) -> None:
    make_crowded_game()
    assert visitor.visit("/") == 200
    assert visitor.page.title() == "Games · Rung"
    game = visitor.page.get_by_role("article", name="Skyline")
    assert "14 players, 1 seen today" in " ".join(game.inner_text().split())
    arcade, lap, old = (game.get_by_role("region", name=name, exact=False) for name in ("Arcade", "Lap", "Old"))
    assert "The best score counts, higher is better." in arcade.inner_text()
    assert arcade.locator("dt").all_inner_texts() == ["Daily", "Weekly", "Monthly", "All time"]
    assert arcade.locator("dd").last.inner_text() == "never resets"
    assert "left" in arcade.locator("dd").first.inner_text()
    assert "lower is better, equal scores share a rank. Days begin at midnight, Europe/Berlin." in lap.inner_text()
    assert "All scores add up" in old.inner_text()
    assert "closed" in old.inner_text()
    assert game.get_by_role("img", name="DE").first.inner_text() == "🇩🇪"
    assert game.get_by_text("Nova").is_visible()


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
    make_player(game, display_name="<img src=x onerror=alert(1)>")
    visitor.visit("/")
    for written in ("<b>bold</b>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"):
        assert written in visitor.text()


def test_without_javascript_the_page_is_the_same(new_visitor: Callable[..., Visitor]) -> None:
    make_crowded_game()
    plain, scripted = new_visitor(java_script_enabled=False), new_visitor()
    for visitor in (plain, scripted):
        visitor.visit("/")
    assert plain.page.locator("main").inner_text() == scripted.page.locator("main").inner_text()
