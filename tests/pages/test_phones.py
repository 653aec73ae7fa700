"""What a board looks like on small screens."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.factories import make_game, make_mode, make_player, make_token
from tests.pages.browser import Visitor
from tests.pages.scenes import play
from tests.pages.script import Script, entry

pytestmark = pytest.mark.django_db(transaction=True)
LEAST = 40  # pixels: four or five letters of a name
NARROW = f"""() => [...document.querySelectorAll('.entry .name')].filter(one =>
    one.checkVisibility() && one.clientWidth < Math.min({LEAST}, one.scrollWidth)).map(one => one.textContent)"""
OUT = """() => [...document.querySelectorAll('.board')].filter(one => one.getBoundingClientRect().right
    > one.closest('.card').getBoundingClientRect().right - 1).length"""


def test_beside_scores_of_any_length_names_can_be_read_on_a_phone(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game, decimals=6, grace_seconds=2 * 24 * 3600)
    scores = {f"p{number}": f"{9_007_199_200 - number}.123456" for number in range(8)}
    for number, player in enumerate(scores):
        make_player(game, player, display_name=f"Maximiliane {number}", country="DE")
    play(game, "solo", scores, at=timezone.now() - timedelta(days=1))
    play(game, "solo", scores)
    visitor, wrong = new_visitor(locale="de-DE"), list[str]()
    script = Script(visitor)
    visitor.visit(f"/g/arena/enter?token={make_token(game, 'p3')}")
    for path in ("/g/arena/solo/daily", "/g/arena/solo/alltime", "/g/arena", "/embed/arena/solo/alltime"):
        visitor.visit(path)
        for width in (320, 360, 390):
            visitor.look(width=width, scheme="light")
            wrong += [f"{path}, {width}: {name}" for name in visitor.page.evaluate(NARROW)]
            wrong += [f"{path}, {width}: sticks out"] * (visitor.page.evaluate(OUT) or visitor.width() > width)
    assert wrong == []

    visitor.look(width=320, scheme="light")
    visitor.page.goto("about:blank")
    script.heard.clear()
    visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe", "follow")
    short = [entry(number + 1, f"p{number}", 10 - number, display_name=f"Maximiliane {number}") for number in range(3)]
    script.tell("snapshot", 1, short)
    script.wait("document.querySelectorAll('[data-rows] .entry').length === 3")
    assert visitor.page.locator("[data-rows] .long").count() == 0, "what is short now is written as such"
    script.tell("update", 2, [one | {"score": 8_123_456_789.25} for one in short])
    script.wait("document.querySelectorAll('[data-rows] .long').length === 3")
    assert visitor.page.evaluate(NARROW) == []
