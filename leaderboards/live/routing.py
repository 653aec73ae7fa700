from django.urls import path

from leaderboards.live.consumers import LiveConsumer

websocket_urlpatterns = [path("ws", LiveConsumer.as_asgi())]
