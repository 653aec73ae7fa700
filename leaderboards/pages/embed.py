"""A small board for a frame on somebody else's site: anybody may frame it, so it shows what anybody may see."""

from datetime import datetime
from typing import Any

from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from config import clock
from config.api import PUBLIC
from leaderboards.boards.board import Board
from leaderboards.known import board_known
from leaderboards.pages import numbers, times, visitors, words
from leaderboards.pages.cards import Tops
from leaderboards.pages.rows import rows_of
from leaderboards.wire_scores import BoardState
from players.access import NOBODY

SHOWN, MOST = 10, 50
_THEMES = {"light", "dark"}


@gzip_page
@require_safe
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})  # type: ignore[arg-type]
def embed(request: HttpRequest, game: str, mode: str, window: str) -> HttpResponse:
    """Whoever is signed in is nobody here, a frame is not the place to tell, but for a player whom nobody else sees: it
    must not learn so. Boards that do not answer are said here,
    too: our page of errors may not be framed.
    """
    record, now = visitors.readable(NOBODY, game), clock.now()
    scope, limit = request.GET.get("scope") or "global", _limit(request.GET.get("limit", ""))
    board = board_known(game=record, mode=mode, window=window, at=now, scope=lambda: scope)
    board = visitors.own_view(request, board, now=now)
    state, theme = Tops().of(board, limit), request.GET.get("theme", "")
    context = _frame(board, now) | _rows(board, state, limit, now) | {"game": record, "window": window, "limit": limit}
    context |= {"theme": theme if theme in _THEMES else ""}
    response = render(request, "leaderboards/embed.html", context, status=200 if state else 503)
    return visitors.shown_to(request, board, response, public=PUBLIC if state else "no-store")


def _frame(board: Board, now: datetime) -> dict[str, Any]:
    ends = board.window.ends_at
    return {
        "mode": board.mode,
        "window_id": board.window.id,
        "window_title": words.window_title(board.window, zone=board.mode.timezone, now=now),
        "scope": board.scope,
        "scope_name": words.scope_name(board.scope),
        "resets_at": ends,
        "left": times.left(ends, now=now) if ends else "",
        "over": ends is not None and ends <= now,
    }


def _rows(board: Board, state: BoardState | None, limit: int, now: datetime) -> dict[str, Any]:
    entries, least = state.entries if state else [], min(limit, SHOWN)
    return {
        "rows": rows_of(board, entries, before=None, mine=None, now=now),
        "spare": range(least - len(entries)),
        "least": least,
        "total": numbers.whole(state.total if state else 0),
        "available": state is not None,
    }


def _limit(asked: str) -> int:
    return min(max(int(asked), 1), MOST) if asked.isascii() and asked.isdigit() and len(asked) < len("1000") else SHOWN
