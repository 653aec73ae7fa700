from django.urls import path, re_path

from leaderboards.live.consumers import LiveConsumer, NoSuchSocket

websocket_urlpatterns = [path("ws", LiveConsumer.as_asgi()), re_path("", NoSuchSocket.as_asgi())]
