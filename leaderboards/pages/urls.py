"""The addresses of the pages. What begins like a mode or a window and is neither comes before them."""

from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from leaderboards.pages.board import board_page, mode_page
from leaderboards.pages.embed import embed
from leaderboards.pages.home import game_page, home
from leaderboards.pages.integrate import integrate
from leaderboards.pages.picture import card
from leaderboards.pages.profile import profile
from leaderboards.pages.signing_in import enter, leave

urlpatterns = [
    path("", home, name="home"),
    path("language", csrf_exempt(set_language), name="set-language"),  # nothing to forge: a cookie of one's own taste
    path("embed/<game>/<mode>/<window>", embed, name="embed"),
    path("g/<game>", game_page, name="game-page"),
    path("g/<game>/enter", enter, name="player-enter"),
    path("g/<game>/leave", leave, name="player-leave"),
    path("g/<game>/players/<player_id>", profile, name="profile-page"),
    path("g/<game>/<mode>", mode_page, name="mode-page"),
    path("g/<game>/<mode>/integrate", integrate, name="integrate"),
    path("g/<game>/<mode>/<window>", board_page, name="board-page"),
    path("g/<game>/<mode>/<window>/card.png", card, name="board-card"),
]
