"""Who looks at a page: a player signed in to the game, an operator, or nobody. May see what the API would tell."""

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import gettext_lazy

from config import shared_pages
from config.errors import Unauthenticated
from leaderboards.boards.board import Board
from leaderboards.ghosts import seen_by
from players.access import NOBODY, Caller, may_read
from players.authentication import caller_from_user
from players.lookups import GameRecord
from players.sessions import session_caller


class PrivateGame(Unauthenticated):
    title = gettext_lazy("This game is private")  # type: ignore[assignment]
    sentence = gettext_lazy("Its boards are for its players. Come in by the link that the game hands out.")  # type: ignore[assignment]


def caller_of(request: HttpRequest, game: str) -> Caller:
    """Without a cookie nobody, and the session is not looked into."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return NOBODY
    player = session_caller(request.session, game)
    return caller_from_user(request.user) if player is NOBODY else player


def readable(caller: Caller, game: str) -> GameRecord:
    try:
        return may_read(caller, game)
    except Unauthenticated:
        raise PrivateGame from None


def own_view(request: HttpRequest, board: Board, *, now: datetime) -> Board:
    """A board that is shown alike to everybody, but for a signed-in player whom nobody else sees."""
    return seen_by(board, caller_of(request, board.mode.game.slug).player_id, at=now)


def shown_to(request: HttpRequest, board: Board, response: HttpResponse, *, public: str) -> HttpResponse:
    """`public`: how long others may keep what is shown alike to everybody. Every signed-in player keeps nothing: a
    header of its own would tell the one that nobody else sees.
    """
    patch_vary_headers(response, ["Cookie"])
    is_player = caller_of(request, board.mode.game.slug).player_id is not None
    response.headers["Cache-Control"] = "private, no-store" if is_player else public
    response.headers[shared_pages.SHARE.decode()] = "1"
    return response


def shown(response: HttpResponse, *, alike: bool = False) -> HttpResponse:
    """A page as it goes out: it is another one for every visitor. `alike`: but for strangers, who may share it."""
    patch_vary_headers(response, ["Cookie"])
    patch_cache_control(response, private=True, no_cache=True)
    if alike:
        response.headers[shared_pages.SHARE.decode()] = "1"
    return response
