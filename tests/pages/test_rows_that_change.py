"""Rows of an open board as players come, go and change."""

from collections.abc import Callable

import pytest

from tests.factories import make_game, make_mode
from tests.pages.browser import Visitor
from tests.pages.scenes import play
from tests.pages.script import NAMES, Script, entry

pytestmark = pytest.mark.django_db(transaction=True)
HELD = "document.activeElement.closest('[data-player]')?.dataset.player ?? document.activeElement.tagName"


@pytest.fixture
def script(new_visitor: Callable[..., Visitor]) -> Script:
    """Of a board with three players, open."""
    game = make_game("arena")
    make_mode(game, windows=["alltime"])
    play(game, "solo", {"ada": 300, "bo": 200, "cleo": 100})
    script = Script(new_visitor())
    script.visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "ada", 300), entry(2, "bo", 200), entry(3, "cleo", 100)])
    script.wait(f"{NAMES} === 'ada,bo,cleo'")
    return script


def test_the_keyboard_stays_on_the_board_when_a_row_leaves_it(script: Script) -> None:
    page = script.visitor.page
    page.locator("[data-player=bo] a").focus()
    script.tell("update", 2, [entry(1, "bo", 400), entry(2, "ada", 300), entry(3, "cleo", 100)])
    script.wait(f"{NAMES} === 'bo,ada,cleo'")
    assert page.evaluate(HELD) == "bo", "with its row"
    script.tell("update", 3, [entry(1, "ada", 300), entry(2, "cleo", 100)])
    script.wait(f"{NAMES} === 'ada,cleo'")
    assert page.evaluate(HELD) == "ada", "at its place"
    page.locator("[data-player=cleo] a").focus()
    script.tell("update", 4, [entry(1, "ada", 300)])
    script.wait(f"{NAMES} === 'ada'")
    assert page.evaluate(HELD) == "ada", "at the last one"


FACES = "[...document.querySelectorAll('[data-rows] .face')].map(one => one.textContent).join('')"


def test_a_renamed_player_has_the_initial_of_the_new_name(script: Script) -> None:
    avatar = {"avatar_url": "/static/rung.svg"}
    script.tell("update", 2, [entry(1, "ada", 300, display_name="Zoe"), entry(2, "bo", 200, **avatar)])
    script.wait(f"{NAMES} === 'Zoe,bo'")
    assert script.visitor.page.evaluate(FACES) == "ZB"
    script.tell("update", 3, [entry(1, "ada", 300, display_name="Zoe"), entry(2, "bo", 200, display_name="Mo", **avatar)])
    script.wait(f"{NAMES} === 'Zoe,Mo'")
    assert script.visitor.page.evaluate(FACES) == "ZM"
    assert script.visitor.page.locator("[data-player=bo] .face img").count() == 1
