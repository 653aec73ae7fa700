from django.urls import path

from leaderboards.api.activity import ActivityView
from leaderboards.api.attempts import AttemptsView, AttemptTokenView, AttemptView
from leaderboards.api.boards import BoardView, LookupView, MeView, StandingView
from leaderboards.api.estimates import DistributionView, PreviewView
from leaderboards.api.modes import GamesView, GameView, ModeView
from leaderboards.api.ranks import RanksView
from leaderboards.api.scores import ScoresView, ScoreView

MODE = "games/<str:game>/modes/<str:mode>"
BOARD = f"{MODE}/leaderboards/<str:window>"

urlpatterns = [
    path("games", GamesView.as_view(), name="games"),
    path("games/<str:game>", GameView.as_view(), name="game"),
    path("games/<str:game>/scores", ScoresView.as_view(), name="scores"),
    path("games/<str:game>/players/<str:player_id>/attempts", AttemptsView.as_view(), name="attempts"),
    path("games/<str:game>/players/<str:player_id>/attempts/<str:attempt_id>", AttemptView.as_view(), name="attempt"),
    path("games/<str:game>/players/<str:player_id>/ranks", RanksView.as_view(), name="ranks"),
    path(MODE, ModeView.as_view(), name="mode"),
    path(f"{MODE}/activity", ActivityView.as_view(), name="activity"),
    path(f"{MODE}/attempts", AttemptTokenView.as_view(), name="attempt-token"),
    path(f"{MODE}/scores", ScoreView.as_view(), name="score"),
    path(BOARD, BoardView.as_view(), name="board"),
    path(f"{BOARD}/me", MeView.as_view(), name="me"),
    path(f"{BOARD}/lookup", LookupView.as_view(), name="lookup"),
    path(f"{BOARD}/preview", PreviewView.as_view(), name="preview"),
    path(f"{BOARD}/distribution", DistributionView.as_view(), name="distribution"),
    path(f"{BOARD}/players/<str:player_id>", StandingView.as_view(), name="standing"),
]
