"""What a board's page weighs, and what of it a visitor has to wait for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.core.management import call_command
from django.test import override_settings

from tests import live
from tests.pages.browser import Visitor, wait_for
from tests.pages.scenes import make_full_game

BOARD, BUDGET = "/g/arena/solo/daily", 60_000
OTHERS = ("/", "/g/arena", "/g/arena/players/p-1", "/embed/arena/solo/daily")
COMPRESSED = {"staticfiles": {"BACKEND": "config.statics.Statics"}}
JUMPED = """() => new Promise(told => new PerformanceObserver(list =>
    told(list.getEntries().reduce((sum, one) => sum + one.value, 0))).observe({type: "layout-shift", buffered: true})
    || setTimeout(() => told(0), 500))"""


def _collected(folder: Path) -> None:
    """Our own files as production serves them."""
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    with override_settings(STATIC_ROOT=str(folder), STATICFILES_FINDERS=finders, STORAGES=COMPRESSED):
        call_command("collectstatic", interactive=False, verbosity=0)


def _bytes_of_page(address: str) -> int:
    """As sent, not as unpacked."""
    with httpx.stream("GET", address, headers={"Accept-Encoding": "gzip"}, timeout=60) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        return sum(map(len, answer.iter_raw()))


def test_a_board_is_painted_before_any_script_and_all_of_it_is_small(
    new_visitor: Callable[..., Visitor], web: live.Web, tmp_path: Path
) -> None:
    make_full_game()
    visitor, held, come = new_visitor(), list[Any](), list[bool]()
    page = visitor.page
    page.route("**/*.js", lambda route: route.continue_() if come else held.append(route))
    page.goto(BOARD, wait_until="commit")
    wait_for(page, "performance.getEntriesByName('first-contentful-paint').length")
    assert page.locator("[data-rows] .entry").count() == 50
    assert page.locator("[data-rows] .score").first.inner_text() == "100,000"
    assert page.locator("[data-pulse-text]").inner_text().startswith("As of")
    come.append(True)
    page.there(lambda: [route.continue_() for route in held])
    page.get_by_text("Live", exact=True).wait_for()
    assert page.evaluate(JUMPED) < 0.01, "nothing jumps when the scripts have come"

    _collected(tmp_path / "static")
    loaded = [
        urlsplit(one).path for one in page.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
    ]
    files = [one.removeprefix("/static/") for one in loaded if one.endswith((".css", ".js"))]
    weights = {one: (tmp_path / "static" / f"{one}.gz").stat().st_size for one in files}
    weights[BOARD] = _bytes_of_page(web.origin + BOARD)
    assert all(_bytes_of_page(web.origin + one) < BUDGET for one in OTHERS)
    print("bytes:", sum(weights.values()), weights)  # noqa: T201 - measured
    (script,) = (tmp_path / "static").glob("live.*.js")
    assert "/board.js" not in script.read_text(), "what it imports has a name of its own each time, too"
    assert {"live.js", "live/board.js", "rung.css"} <= weights.keys()
    assert sum(weights.values()) < BUDGET
