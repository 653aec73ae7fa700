"""One ASGI application for one port: the door, behind it HTTP for Django and WebSocket for Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.core.asgi import get_asgi_application

from config.door import Door

django_application = get_asgi_application()

from leaderboards.live.routing import websocket_urlpatterns  # noqa: E402 - models need Django set up
from players.authentication import CallerMiddleware  # noqa: E402 - as above

application = Door(
    ProtocolTypeRouter(
        {
            "http": django_application,
            "websocket": SessionMiddlewareStack(CallerMiddleware(URLRouter(websocket_urlpatterns))),
        }
    ),
    max_body=settings.MAX_BODY_BYTES,
)
