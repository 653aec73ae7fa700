from django.urls import path

from leaderboards.api.modes import GamesView, GameView, ModeView

urlpatterns = [
    path("games", GamesView.as_view(), name="games"),
    path("games/<str:game>", GameView.as_view(), name="game"),
    path("games/<str:game>/modes/<str:mode>", ModeView.as_view(), name="mode"),
]
