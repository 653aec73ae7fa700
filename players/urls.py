from django.urls import path

from players.api import PlayerExportView, PlayerView

urlpatterns = [
    path("games/<str:game>/players/<str:player_id>", PlayerView.as_view(), name="player"),
    path("games/<str:game>/players/<str:player_id>/export", PlayerExportView.as_view(), name="player-export"),
]
