"""axe-core finds nothing serious on any page that players meet, wide and light or narrow and dark."""

from collections.abc import Callable

from django.test import RequestFactory

from config import pages
from leaderboards.models import Mode
from tests.factories import make_game, make_mode, make_token
from tests.pages import axe
from tests.pages.browser import Visitor
from tests.pages.scenes import make_full_game

BROKEN = "/broken"
STATUS = {
    "/": 200,
    "/g/arena": 200,
    "/g/arena/solo/daily": 200,
    "/g/arena/solo/weekly?scope=country:DE&page=9&q=runner": 200,
    "/g/arena/solo/daily?q=nobody": 200,
    "/g/arena/duel/daily": 200,
    "/g/arena/players/p-1": 200,
    "/g/arena/solo/integrate": 200,
    "/g/arena/duel/integrate": 200,
    "/embed/arena/solo/daily": 200,
    "/g/arena/enter?token=stale": 403,
    "/g/underground/solo/daily": 401,
    "/nothing": 404,
    BROKEN: 500,
}
SIGNED_IN = ["/g/arena/solo/daily", "/g/arena/duel/daily", "/g/arena/players/p-70"]


def _break(visitor: Visitor) -> None:
    """Nothing in the house does, so the page that says so is brought by hand."""
    slipped = pages.server_error(RequestFactory().get(BROKEN)).content.decode()
    visitor.page.route(
        f"**{BROKEN}", lambda route: route.fulfill(status=500, content_type="text/html; charset=utf-8", body=slipped)
    )


def _findings(visitor: Visitor, path: str) -> list[str]:
    told = []
    for width, scheme in ((1440, "light"), (390, "dark")):
        visitor.look(width=width, scheme=scheme)
        told += [f"{path}, {width}, {scheme}: {finding}" for finding in axe.findings(visitor)]
        if visitor.width() > width:
            told.append(f"{path} is {visitor.width()} wide on {width}")
    return told


def test_nothing_on_a_page_keeps_anybody_out(new_visitor: Callable[..., Visitor]) -> None:
    game = make_full_game()
    make_mode(make_game("underground", public=False))
    assert Mode.objects.count() == 4
    stranger, player = new_visitor(), new_visitor()
    _break(stranger)
    wrong = []
    for path, status in STATUS.items():
        assert stranger.visit(path) == status, path
        wrong += _findings(stranger, path)
    player.visit(f"/g/arena/enter?token={make_token(game, 'p-70')}")
    for path in SIGNED_IN:
        assert player.visit(path) == 200
        wrong += _findings(player, f"{path} (signed in)")
    assert wrong == []
