"""What an open page says of who is signed in agrees with the board beside it."""

from collections.abc import Callable
from typing import Any

import pytest

from players.models import Game
from tests.factories import make_game, make_mode, make_token
from tests.pages.browser import Visitor
from tests.pages.scenes import play
from tests.pages.script import PULSE, Script, entry

pytestmark = pytest.mark.django_db(transaction=True)
BOARD = "/g/arena/solo/alltime"
SEEN = "(part => document.querySelector(part)?.checkVisibility({visibilityProperty: true}) ?? false)"
HEIGHT = "document.querySelector('.page').offsetHeight"


@pytest.fixture
def arena(transactional_db: None) -> Game:
    game = make_game("arena")
    make_mode(game, windows=["alltime"], min_score=0, max_score=1_000_000)
    return game


def _signed_in(visitor: Visitor, game: Game, player: str, path: str = BOARD) -> None:
    visitor.visit(f"/g/arena/enter?token={make_token(game, player)}&next={path}")


def _stop_the_clock(page: Any) -> None:
    """From here on its timers fire when they are told to, however slow the machine is."""
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 2)


def test_what_is_said_of_ones_own_place_never_contradicts_the_board(
    arena: Game, new_visitor: Callable[..., Visitor]
) -> None:
    play(arena, "solo", {f"p{number}": 1000 + number for number in range(52)} | {"me": 10})
    script = Script(new_visitor())
    page = script.visitor.page
    page.clock.install()
    _signed_in(script.visitor, arena, "me")
    script.wait_for_ops("subscribe", "follow")
    assert page.locator("[data-pinned] .mine .rank").inner_text() == "53"
    _stop_the_clock(page)
    script.tell("rank", 1, [], id="me", new_rank=53, score=10)
    script.tell("snapshot", 1, [entry(1, "p51", 1051), entry(2, "p50", 1050)])
    script.tell("update", 2, [entry(1, "p51", 1052), entry(2, "p50", 1050)])
    script.wait("document.querySelector('[data-rows] .score').textContent === '1,052'")
    page.evaluate("document.querySelector('[data-you]').marked = true")
    page.clock.run_for(2000)
    script.wait("!document.querySelector('[data-you]').marked")  # others have changed: it was just asked for

    height = page.evaluate(HEIGHT)
    play(arena, "solo", {"me": 1200})
    script.tell("update", 3, [entry(1, "me", 1200), entry(2, "p51", 1052)])
    script.tell("rank", 2, [], id="me", new_rank=1, score=1200)
    script.wait("document.querySelector('[data-own-rank]').textContent === '#1'")
    assert page.locator("[data-rows] .mine .rank").inner_text() == "1"
    assert [page.evaluate(f"{SEEN}('{part}')") for part in (".goal", "[data-pinned] tr")] == [False, False]
    assert page.evaluate(HEIGHT) == height, "nothing jumps"
    page.clock.run_for(3000)
    script.wait(f"{SEEN}('.goal')")
    assert "You lead, 149 ahead of #2, p51" in page.locator(".goal").inner_text()
    assert page.locator("[data-pinned] tr").count() == 0


def test_who_comes_onto_a_board_is_not_called_unlisted_beside_it(
    arena: Game, new_visitor: Callable[..., Visitor]
) -> None:
    script = Script(new_visitor())
    page = script.visitor.page
    page.clock.install()
    _signed_in(script.visitor, arena, "me")
    script.wait_for_ops("subscribe", "follow")
    _stop_the_clock(page)
    script.tell("rank", 1, [], id="me", new_rank=None, score=None)
    script.tell("snapshot", 1, [])
    script.tell("update", 2, [])
    script.wait(f"{PULSE} === 'Live'")
    page.evaluate("document.querySelector('[data-you]').marked = true")
    page.clock.run_for(2000)
    script.wait("!document.querySelector('[data-you]').marked")
    assert page.get_by_text("Not listed").is_visible()
    play(arena, "solo", {"me": 5})
    script.tell("update", 3, [entry(1, "me", 5)])
    script.tell("rank", 2, [], id="me", new_rank=1, score=5)
    script.wait("document.querySelector('[data-rows] .mine')")
    script.wait(f"!{SEEN}('.unlisted')")
    page.clock.run_for(3000)
    script.wait("document.querySelector('[data-own-rank]')?.textContent === '#1'")


@pytest.mark.parametrize("path", ["/", "/g/arena", BOARD])
def test_ones_own_row_is_marked_wherever_a_board_is_live(
    arena: Game, new_visitor: Callable[..., Visitor], path: str
) -> None:
    play(arena, "solo", {"me": 100, "you": 50})
    script = Script(new_visitor())
    _signed_in(script.visitor, arena, "me", path)
    mine = "[...document.querySelectorAll('.entry.mine .name')].map(one => one.textContent).join()"
    script.wait_for_ops("subscribe", *(["follow"] if path == BOARD else []))
    assert script.visitor.page.evaluate(mine) == "me"
    script.tell("snapshot", 1, [entry(1, "you", 200), entry(2, "me", 100)])
    script.wait("document.querySelector('[data-rows] .score').textContent === '200'")
    assert script.visitor.page.evaluate(mine) == "me"


@pytest.mark.parametrize("public", [True, False])
def test_who_signs_out_or_in_as_another_finds_every_open_page_of_one_mind(
    arena: Game, new_visitor: Callable[..., Visitor], public: bool
) -> None:
    Game.objects.filter(pk=arena.pk).update(public=public)
    play(arena, "solo", {"me": 100, "you": 50})
    visitor = new_visitor()
    script = Script(visitor)
    _signed_in(visitor, arena, "me")
    other = visitor.context.new_page()
    other.goto(f"/g/arena/enter?token={make_token(arena, 'you')}&next={BOARD}")
    script.wait_for_ops("subscribe", "follow")
    script.tell("snapshot", 1, [entry(1, "me", 100), entry(2, "you", 50)])
    script.tell("update", 2, [entry(1, "me", 101), entry(2, "you", 50)])
    visitor.page.locator(".signed-in bdi", has_text="you").wait_for()
    script.wait_for_ops("subscribe", "follow", "subscribe", "follow")
    assert visitor.page.locator(".entry.mine .name").inner_text() == "you"
    assert visitor.page.locator("[data-follow]").get_attribute("data-follow") == "you"

    other.get_by_role("button", name="Sign out").click()
    other.locator(".signed-in").wait_for(state="detached")
    script.tell("error", 0, [], id="me", code="unauthenticated")
    visitor.page.locator(".signed-in").wait_for(state="detached")
    visitor.page.wait_for_load_state()
    assert visitor.page.locator("[data-follow]").count() == 0
    assert (visitor.page.locator("h1").inner_text() == "Solo") is public
