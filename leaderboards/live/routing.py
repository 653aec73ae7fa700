from typing import Any

from django.urls import path, re_path

from leaderboards.live.consumers import live_socket, no_such_socket

_views: list[Any] = [live_socket, no_such_socket]  # ASGI applications, which Channels routes as Django does views
websocket_urlpatterns = [path("ws", _views[0]), re_path("", _views[1])]
