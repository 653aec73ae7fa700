from django.urls import path

from anticheat.api import CasesView, CaseView, RollbackPreviewView, RulingsView, RulingView, UndoView
from anticheat.replay_api import ReplayView

GAME = "games/<str:game>"

urlpatterns = [
    path(f"{GAME}/cases", CasesView.as_view(), name="cases"),
    path(f"{GAME}/cases/<int:case>", CaseView.as_view(), name="case"),
    path(f"{GAME}/rulings", RulingsView.as_view(), name="rulings"),
    path(f"{GAME}/rulings/<int:ruling>", RulingView.as_view(), name="ruling"),
    path(f"{GAME}/rulings/<int:ruling>/undo", UndoView.as_view(), name="undo"),
    path(f"{GAME}/rollbacks/preview", RollbackPreviewView.as_view(), name="rollback-preview"),
    path(f"{GAME}/players/<str:player_id>/attempts/<str:attempt_id>/replay", ReplayView.as_view(), name="replay"),
]
