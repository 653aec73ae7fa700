"""Times on pages go by the server's clock, whatever the visitor's says."""

from collections.abc import Callable

import pytest

from tests.factories import make_game, make_mode
from tests.pages.browser import Visitor
from tests.pages.scenes import play
from tests.pages.script import PULSE, Script, entry

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400_000
OFF_BY = """(() => { const Real = Date, now = Real.now.bind(Real);
    globalThis.Date = class extends Real { constructor(...parts) { parts.length ? super(...parts) : super(now() + %d); }
        static now() { return now() + %d; } }; globalThis.right = now; })()"""
LEFT = "document.querySelector('time[data-left]')"
# what is shown and what is left by the right clock, as the page would write it; a slow machine may be a little later
AGREES = f"""() => {{ const rest = ({LEFT}.dateTime && new Date({LEFT}.dateTime) - right()) / 60000;
    const [days, hours, minutes, seconds] = [/(\\d+) d/, /(\\d+) h/, /(\\d+) min/, /(\\d+) s/].map(
        part => Number({LEFT}.textContent.match(part)?.[1] ?? 0));
    return Math.abs(days * 1440 + hours * 60 + minutes + seconds / 60 - rest) < 3; }}"""


@pytest.mark.parametrize(("path", "ahead"), [("/g/arena/solo/daily", DAY), ("/embed/arena/solo/daily", -DAY)])
def test_a_clock_that_is_a_day_off_does_not_matter(new_visitor: Callable[..., Visitor], path: str, ahead: int) -> None:
    game = make_game("arena")
    make_mode(game, windows=["daily"])
    play(game, "solo", {"ada": 300})
    script = Script(new_visitor())
    page = script.visitor.page
    page.add_init_script(OFF_BY % (ahead, ahead))
    script.visitor.visit(path)
    script.wait_for_ops("subscribe")
    at = page.evaluate("new Date(right()).toISOString()")
    script.tell("snapshot", 1, [entry(1, "ada", 300, achieved_at=at)])
    script.wait(f"{PULSE} === 'Live'")
    script.wait("document.querySelector('[data-rows] time').textContent !== ''")
    assert page.locator("[data-rows] time").text_content() in {"now", "1 min. ago"}
    page.wait_for_timeout(1500)  # a tick of the clocks, or two
    assert page.evaluate(AGREES), page.locator("time[data-left]").inner_text()
