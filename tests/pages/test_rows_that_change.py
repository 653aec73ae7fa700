"""Rows of an open board as players come, go and change."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

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


def test_the_longest_scores_are_live_to_the_last_digit(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game, windows=["alltime"], decimals=6)
    play(game, "solo", {"ada": "9007199251.123457"})
    script = Script(new_visitor())
    page = script.visitor.page
    script.visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    assert page.locator("[data-player=ada] .score").inner_text() == "9,007,199,251.123457"
    for seq, digit in enumerate("13579", start=1):
        exact = Decimal(f"9007199251.12345{digit}")
        script.tell("update" if seq > 1 else "snapshot", seq, [entry(1, f"a{seq}", exact)])
        script.wait(f"{NAMES} === 'a{seq}'")
        assert page.locator(f"[data-player=a{seq}] .score").inner_text() == f"{exact:,}"


FACES = "[...document.querySelectorAll('[data-rows] .face')].map(one => one.textContent).join('')"


def test_a_renamed_player_has_the_initial_of_the_new_name(script: Script) -> None:
    avatar = {"avatar_url": "/static/rung.svg"}
    script.tell("update", 2, [entry(1, "ada", 300, display_name="Zoe"), entry(2, "bo", 200, **avatar)])
    script.wait(f"{NAMES} === 'Zoe,bo'")
    assert script.visitor.page.evaluate(FACES) == "ZB"
    script.tell(
        "update", 3, [entry(1, "ada", 300, display_name="Zoe"), entry(2, "bo", 200, display_name="Mo", **avatar)]
    )
    script.wait(f"{NAMES} === 'Zoe,Mo'")
    assert script.visitor.page.evaluate(FACES) == "ZM"
    assert script.visitor.page.locator("[data-player=bo] .face img").count() == 1


def test_a_live_row_shows_no_avatar_of_a_host_that_nobody_has_named(script: Script) -> None:
    asked = list[str]()
    script.visitor.page.on("request", lambda request: asked.append(request.url))
    elsewhere = {"avatar_url": "https://tracker.example/a.png"}
    script.tell("update", 2, [entry(1, "eve", 300, **elsewhere), entry(2, "bo", 200, avatar_url="/static/rung.svg")])
    script.wait(f"{NAMES} === 'eve,bo'")
    assert script.visitor.page.evaluate(FACES) == "EB"
    assert script.visitor.page.locator("[data-player=eve] .face img").count() == 0
    assert script.visitor.page.locator("[data-player=bo] .face img").count() == 1
    assert not any("tracker" in url for url in asked)


def test_after_the_reset_pages_and_movement_are_those_of_the_new_window(new_visitor: Callable[..., Visitor]) -> None:
    """The page that is opened is yesterday's, with two pages; the one that it asks for after midnight is today's."""
    game, yesterday = make_game("arena"), timezone.now() - timedelta(days=1)
    for mode in ("solo", "full"):
        make_mode(game, mode, windows=["daily"], grace_seconds=2 * 24 * 3600)
    play(game, "full", {f"p{number}": 1000 - number for number in range(51)})
    play(game, "solo", {"ada": 300, "bo": 200}, at=yesterday)
    play(game, "solo", {"bo": 400, "ada": 300})
    script = Script(new_visitor())
    page = script.visitor.page

    def answer(route: Any) -> None:
        if not route.request.is_navigation_request():
            return route.continue_()
        before = route.fetch(url=route.request.url.replace("solo", "full"))
        text = re.sub(r"daily:[0-9-]+", "daily:2026-01-01", before.text().replace("/full", "/solo"))
        return route.fulfill(response=before, body=text.replace('"full"', '"solo"'))

    page.route("**/g/arena/solo/daily", answer)
    script.visitor.visit("/g/arena/solo/daily")
    script.wait_for_ops("subscribe")
    assert page.locator(".paging").inner_text().startswith("Page 1 of 2")
    today = f"daily:{timezone.now():%Y-%m-%d}"
    script.tell("snapshot", 1, [], window_id="daily:2026-01-01")
    script.tell("update", 2, [entry(1, "bo", 400), entry(2, "ada", 300)], window_id=today)
    script.wait("!document.querySelector('.paging')")
    moves = "[...document.querySelectorAll('[data-rows] .move .hidden')].map(one => one.textContent)"
    assert page.evaluate(moves) == ["Up 1 since yesterday", "Down 1 since yesterday"]
