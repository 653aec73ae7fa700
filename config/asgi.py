"""One ASGI application for one port: the door, behind it HTTP for Django and WebSocket for Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.bridge import Bridge
from config.door import Door

django_application = get_wsgi_application()

from leaderboards.live.routing import websocket_urlpatterns  # noqa: E402 - models need Django set up
from players.authentication import CallerMiddleware  # noqa: E402 - as above


def application_with(bridge: Bridge) -> Door:
    sockets = SessionMiddlewareStack(CallerMiddleware(URLRouter(websocket_urlpatterns)))
    return Door(ProtocolTypeRouter({"http": bridge, "websocket": sockets}), max_body=settings.MAX_BODY_BYTES)


application = application_with(Bridge(django_application, threads=settings.WEB_THREADS))
