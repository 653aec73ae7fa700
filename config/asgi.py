"""One ASGI application for one port: the door, behind it HTTP for Django and WebSocket for Channels."""

import gc
import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.bridge import Bridge
from config.door import Door

django_application = get_wsgi_application()

from leaderboards import outbox  # noqa: E402 - as below
from leaderboards.boards.guard import guard  # noqa: E402 - as below
from leaderboards.fastlane.coalescer import Run  # noqa: E402 - as below
from leaderboards.fastlane.lane import FastLane  # noqa: E402 - as below
from leaderboards.live.routing import websocket_urlpatterns  # noqa: E402 - models need Django set up
from players.authentication import CallerMiddleware  # noqa: E402 - as above


def application_with(bridge: Bridge, *, run: Run | None = None) -> Door:
    """`run`: where what is asked together runs, in place of threads of its own."""
    http = FastLane(bridge, run=run) if settings.FAST_LANE else bridge
    sockets = SessionMiddlewareStack(CallerMiddleware(URLRouter(websocket_urlpatterns)))
    routes = ProtocolTypeRouter({"http": http, "websocket": sockets})
    return Door(routes, max_body=settings.MAX_BODY_BYTES, on_start=_begin)


def _begin() -> None:
    outbox.ring_meanwhile()
    if settings.WATCH_BOARDS:
        guard.begin()


sys.setswitchinterval(0.0005)  # the loop and its threads hand over often: at Python's 5 ms they wait for each other
gc.collect()
gc.freeze()  # what is there now stays: it need not be looked at again and again
gc.set_threshold(50_000, 20, 50)  # a batch makes tens of thousands of small things, and lets go of them by itself
application = application_with(Bridge(django_application, threads=settings.WEB_THREADS))
