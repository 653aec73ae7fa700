"""What just happened, as a shadow-banned player sees it: what it would see were it free, and nobody else sees more."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.http import HttpResponse
from django.test import Client

from config import recall
from leaderboards import noticing
from leaderboards.models import Mode
from players.models import Ban
from tests.client import ApiClient
from tests.factories import make_token
from tests.shadowed import GHOST, Play, World
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
NAME = f"p-{GHOST}"
# who plays which score, one after the other: the ghost enters, leads, is overtaken, and betters itself far down too
STORY = [(1, 10), (GHOST, 5), (2, 20), (GHOST, 30), (3, 25), (4, 40), (GHOST, 50), (4, 45), (GHOST, 55), (6, 60)]


@pytest.fixture(autouse=True)
def _each_best_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noticing, "BEST_EVERY", 0.0)


def _world(*, shards: int = 1, **rules: Any) -> World:
    with time_machine.travel(midday(), tick=False):
        return World({"windows": ("daily", "alltime"), **rules}, shards, midday())


def _ban(world: World, kind: Ban.Kind = Ban.Kind.SHADOW) -> None:
    with time_machine.travel(world.now, tick=False):
        world.ban(kind, starts_at=world.now - timedelta(hours=1))


def _tell(world: World, plays: list[tuple[int, int]], *, since: int = 0) -> None:
    """Each a second after the other, and looked at as a worker does."""
    for number, (player, score) in enumerate(plays, start=since):
        world.now = midday() + timedelta(seconds=number)
        with time_machine.travel(world.now, tick=False):
            world.play([Play(player, score, 0, "")])
            if not number:
                Mode.objects.filter(pk=world.mode.pk).update(first_score_at=world.now)
            world.mode.refresh_from_db()
            noticing.mode_look(mode=Mode.objects.select_related("game").get(pk=world.mode.pk), best=None, now=world.now)


def _feed(api: ApiClient, world: World, who: str) -> Any:
    recall.forget()
    with time_machine.travel(world.now, tick=False):
        path = f"/v1/games/{world.game.slug}/modes/solo/activity?limit=50"
        headers = {"Authorization": said} if (said := world.credentials[who]) else {}
        answer = api.get(path, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["cache-control"].startswith("public" if who == "nobody" else "private")
    return answer.json()["activity"]


@pytest.mark.parametrize("banned_after", [0, 4, len(STORY)])
@pytest.mark.parametrize(("ranking", "shards"), [("unique", 1), ("competition", 3)])
def test_its_feed_is_the_one_of_a_twin_that_is_free(
    api: ApiClient, banned_after: int, ranking: str, shards: int
) -> None:
    shadowed, free, without = (_world(ranking=ranking, shards=shards) for _ in range(3))
    _tell(shadowed, STORY[:banned_after])
    _ban(shadowed)
    _tell(shadowed, STORY[banned_after:], since=banned_after)
    _tell(free, STORY)
    _tell(without, [one for one in STORY if one[0] != GHOST])
    assert _feed(api, shadowed, "ghost") == _feed(api, free, "ghost")
    assert NAME in {one["player_id"] for one in _feed(api, shadowed, "ghost")}
    for who in ("nobody", "key", "other"):
        shown = _feed(api, shadowed, who)
        assert NAME not in {one["player_id"] for one in shown}
        assert shown == _feed(api, shadowed, "nobody")


PAGES = ["/", "/g/{game}", "/g/{game}/solo/alltime", "/g/{game}/solo/daily", "/g/{game}/players/p-5"]
PAGES += ["/embed/{game}/solo/alltime", "/embed/{game}/solo/daily?limit=3"]
CARD = "/g/{game}/solo/alltime/card.png"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_its_session_is_the_one_of_a_twin_that_is_free(page: str) -> None:
    told = []
    for banned in (True, False):
        world = _world()
        _tell(world, STORY[:3])
        if banned:
            _ban(world)
        _tell(world, STORY[3:], since=3)
        told.append(_page(world, page))
        world.game.delete()
    assert told[0] == told[1]
    assert NAME in told[0]


def _page(world: World, page: str) -> str:
    """Without what names the world, and when PostgreSQL's clock saw it."""
    text = _asked(world, page, _signed_in(world)).content.decode()
    text = text.replace(world.game.slug, "GAME").replace(world.game.title, "GAME")
    text = re.sub(r"<time datetime=[^>]*>", "<time>", text) if "/players/" in page else text
    return re.sub(r'(csrfmiddlewaretoken" value|nonce|data-version|data-seq)="[^"]*"', "", text)


def _signed_in(world: World) -> Client:
    browser = Client()
    with time_machine.travel(world.now, tick=False):
        token = make_token(world.game, NAME)
        assert browser.get(f"/g/{world.game.slug}/enter", {"token": token}).status_code == 302
    return browser


def _asked(world: World, page: str, browser: Client) -> HttpResponse:
    recall.forget()
    with time_machine.travel(world.now, tick=False):
        answer = browser.get(page.format(game=world.game.slug))
    assert answer.status_code == 200
    return answer


@pytest.mark.parametrize("path", ["/embed/{game}/solo/alltime", CARD])
def test_what_others_frame_and_share_is_its_own_view_for_itself_alone(path: str) -> None:
    world = _world()
    _tell(world, STORY)
    free = _asked(world, path, Client()).content
    before = _asked(world, path, _signed_in(world))
    _ban(world)
    own, others = _asked(world, path, _signed_in(world)), _asked(world, path, Client())
    again = _asked(world, path, _signed_in(world))
    assert own.content == again.content == before.content == free
    assert own.headers == before.headers
    assert others.content != free
    assert (own["Cache-Control"], own["Vary"]) == ("private, no-store", others["Vary"])
    assert others["Cache-Control"].startswith("public")
    assert "Cookie" in others["Vary"]


def test_looks_that_left_it_out_show_it_what_everybody_sees(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many shadow-banned players only so many are looked after with each look."""
    world = _world()
    _tell(world, STORY[:3])
    _ban(world)
    _tell(world, STORY[3:5], since=3)
    before = _feed(api, world, "ghost")
    monkeypatch.setattr(noticing, "_GHOSTS", 0)
    _tell(world, STORY[5:6], since=5)
    assert _feed(api, world, "ghost") == [*_feed(api, world, "nobody")[:1], *before]


def test_who_is_banned_openly_as_well_has_no_feed_of_its_own(api: ApiClient) -> None:
    world = _world()
    _tell(world, STORY[:3])
    _ban(world)
    _ban(world, Ban.Kind.HIDDEN)
    _tell(world, STORY[3:], since=3)
    assert NAME not in {one["player_id"] for one in _feed(api, world, "ghost")}
