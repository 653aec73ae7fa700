"""A board's page: the table, its windows and scopes, paging, search, and where the signed-in player stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from config import clock
from config.errors import Unavailable
from leaderboards.board_states import board_state
from leaderboards.boards.board import Board
from leaderboards.ghosts import seen_by
from leaderboards.known import board_known, mode_known
from leaderboards.pages import numbers, times, words
from leaderboards.pages.feed import feed_of
from leaderboards.pages.paging import PAGE, Paging, page_asked
from leaderboards.pages.rows import Row, ranks_before, rows_of
from leaderboards.pages.scopes import scope_groups
from leaderboards.pages.search import LONGEST, found_on
from leaderboards.pages.spread import HEIGHT, WIDTH, spread
from leaderboards.pages.tabs import tabs_of
from leaderboards.pages.visitors import caller_of, readable, shown
from leaderboards.pages.who import who_is
from leaderboards.pages.you import You, you_on
from leaderboards.selectors import players_of
from leaderboards.wire_scores import BoardQuery, BoardState

_LEAST = 10  # rows that are kept free: nothing jumps when players come


@require_safe
def mode_page(request: HttpRequest, game: str, mode: str) -> HttpResponse:
    found = mode_known(game=readable(caller_of(request, game), game), mode=mode)
    return redirect("board-page", game, mode, found.windows[0])


@gzip_page
@require_safe
def board_page(request: HttpRequest, game: str, mode: str, window: str) -> HttpResponse:
    now, caller = clock.now(), caller_of(request, game)
    record, asked = readable(caller, game), Asked.of(request.GET)
    board = board_known(game=record, mode=mode, window=window, at=now, scope=lambda: asked.scope)
    board = seen_by(board, caller.player_id, at=now)
    context = _frame(board, window, asked, now) | {
        "game": record,
        "player_id": caller.player_id,
        "who": who_is(caller, record),
    }
    try:
        context |= _content(board, asked, caller.player_id, now)
    except Unavailable as error:
        context["unavailable"] = error
    response = render(request, "leaderboards/board.html", context, status=503 if "unavailable" in context else 200)
    if "unavailable" in context:
        response["Retry-After"] = "2"
    return shown(response, alike=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks of a board; what makes no sense in it counts as not asked."""

    scope: str = "global"
    page: int = 1
    rank: int | None = None
    q: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Asked":
        rank, page = page_asked(query.get("rank", "")), page_asked(query.get("page", ""))
        if rank is not None:
            page = (rank - 1) // PAGE + 1
        return cls(query.get("scope") or "global", page or 1, rank, " ".join(query.get("q", "").split())[:LONGEST])


def _frame(board: Board, window: str, asked: Asked, now: datetime) -> dict[str, Any]:
    """What the page shows whether or not the boards answer."""
    players, today = players_of(board.mode.game_id, now)
    ends = board.window.ends_at
    over = ends is not None and ends <= now
    return {
        "mode": board.mode,
        "window": window,
        "window_id": board.window.id,
        "window_title": words.window_title(board.window, zone=board.mode.timezone, now=now),
        "over": over,
        "scope": board.scope,
        "scope_name": words.scope_name(board.scope),
        "scope_groups": scope_groups(board.mode, board.scope),
        "tabs": tabs_of(board, window, now=now),
        "address": reverse("board-page", args=[board.mode.game.slug, board.mode.slug, window]),
        "resets_at": None if over else ends,
        "ended_at": ends if over else None,
        "left": times.left(ends, now=now) if ends and not over else "",
        "now": now,
        "since": words.since(board.window, now=now),
        "players": players,
        "today": today,
        "asked": asked,
        "page_size": PAGE,
    }


def _content(board: Board, asked: Asked, player_id: str | None, now: datetime) -> dict[str, Any]:
    state, paging = _page(board, asked)
    you = you_on(board, player_id, now=now)
    rows = _rows(board, state, player_id, now)
    first = paging.page == 1 and not asked.q
    return {
        "total_text": numbers.whole(state.total),
        "rows": rows,
        "spare": range(_LEAST - len(rows)),
        "still": not any(row.movement.was for row in rows),
        "paging": paging,
        "live": first,
        "you": you,
        "pinned": you is not None and _is_elsewhere(you, rows),
        "found": found_on(board, asked.q, mine=player_id, now=now) if asked.q else None,
        "spread": spread(board, own=you.raw_score if you else None),
        "spread_box": f"0 0 {WIDTH} {HEIGHT}",
        "feed": feed_of([board.mode], now=now, players={board.mode.game_id: player_id}),
    }


def _page(board: Board, asked: Asked) -> tuple[BoardState, Paging]:
    """Beyond the last page is the last page."""
    state = board_state(board, asked=BoardQuery(scope=board.scope, limit=PAGE, offset=(asked.page - 1) * PAGE))
    paging = Paging.of(asked.page, state.total)
    if paging.page != asked.page:
        state = board_state(board, asked=BoardQuery(scope=board.scope, limit=PAGE, offset=(paging.page - 1) * PAGE))
    return state, paging


def _rows(board: Board, state: BoardState, player_id: str | None, now: datetime) -> list[Row]:
    before = ranks_before(board, [one.player_id for one in state.entries], at=now)
    return rows_of(board, state.entries, before=before, mine=player_id, now=now)


def _is_elsewhere(you: You, rows: list[Row]) -> bool:
    return you.row is not None and not any(row.mine for row in rows)
