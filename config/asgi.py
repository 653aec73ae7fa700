"""One ASGI application for one port: the door, behind it HTTP for Django and WebSocket for Channels."""

import gc
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from functools import partial

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.template.loader import get_template
from django.utils import timezone

from config import clock, metrics
from config.bodies import Bodies, Prove
from config.bridge import Bridge
from config.direct import Direct
from config.door import Door
from config.serving import register
from config.serving.parent import end_with_parent

django_application = get_wsgi_application()

from leaderboards import outbox  # noqa: E402 - as below
from leaderboards.boards.guard import guard  # noqa: E402 - as below
from leaderboards.fastlane.coalescer import Run  # noqa: E402 - as below
from leaderboards.fastlane.lane import FastLane  # noqa: E402 - as below
from leaderboards.live.routing import websocket_urlpatterns  # noqa: E402 - as below
from players.access import Kind  # noqa: E402 - as below
from players.authentication import caller_from_header  # noqa: E402 - models need Django set up


def application_with(bridge: Bridge, *, run: Run | None = None) -> Door:
    """`run`: where what is asked together runs, in place of threads of its own."""
    routes = ProtocolTypeRouter({"http": bridge, "websocket": URLRouter(websocket_urlpatterns)})
    inner = FastLane(routes, run=run) if settings.FAST_LANE else routes
    return Door(inner, bodies=Bodies(most=settings.MAX_BODY_BYTES, prove=_proof(bridge)), on_start=_begin)


def _proof(bridge: Bridge) -> Prove:
    """The game whose API key it is."""

    def game_of(authorization: str) -> str | None:
        caller = caller_from_header(authorization, now=timezone.now())
        return caller.game if caller.kind is Kind.KEY else None

    async def prove(authorization: str, address: str) -> str | None:
        game: str | None = await bridge.check_credential(address, partial(game_of, authorization))
        return game

    return prove


def _begin() -> None:
    metrics.tell_meanwhile()
    clock.watch_meanwhile()
    outbox.ring_meanwhile()
    end_with_parent()
    if settings.WATCH_BOARDS:
        guard.begin()


for page in ("board", "embed", "game", "home", "profile"):
    get_template(f"leaderboards/{page}.html")  # a fifth of a second, that the first to ask would wait
sys.setswitchinterval(0.0005)  # the loop and its threads hand over often: at Python's 5 ms they wait for each other
gc.collect()
gc.freeze()  # what is there now stays: it need not be looked at again and again
gc.set_threshold(5_000, 200, 50)  # each look is short, at what is new alone; at all the rest as seldom as can be
application = application_with(Bridge(django_application, threads=settings.WEB_THREADS))
if isinstance(application.inner, FastLane):
    register.direct = Direct(application.inner)
