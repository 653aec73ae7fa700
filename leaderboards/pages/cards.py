"""A mode as a card: the live top of its first window."""

from dataclasses import dataclass
from datetime import datetime

from config.errors import Unavailable
from leaderboards.board_states import board_state
from leaderboards.boards.board import Board, board_named
from leaderboards.ghosts import seen_by
from leaderboards.models import Mode
from leaderboards.pages import numbers, times, words
from leaderboards.pages.rows import Row, rows_of
from leaderboards.wire_scores import BoardQuery, BoardState
from players.access import Caller
from players.lookups import GameRecord

TOP = 5


@dataclass(frozen=True, slots=True)
class Card:
    mode: Mode
    mine: str | None  # who looks
    window: str
    title: str  # of the window
    rows: list[Row]
    spare: range  # places without a player, kept free: nothing jumps when one comes
    total: str
    resets_at: datetime | None
    left: str
    available: bool


def cards_of(game: GameRecord, caller: Caller, *, now: datetime, most: int) -> tuple[list[Card], int]:
    """The open modes first; and how many there are beside those."""
    modes = list(Mode.objects.filter(game_id=game.pk).select_related("game").order_by("-active", "slug"))
    return [_card(mode, caller, now) for mode in modes[:most]], max(0, len(modes) - most)


def _card(mode: Mode, caller: Caller, now: datetime) -> Card:
    window = mode.windows[0]
    board = board_named(mode=mode, window=window, scope="global", at=now)
    board = seen_by(board, caller.player_id, at=now)
    state = top(board, TOP)
    entries = state.entries if state else []
    ends = board.window.ends_at
    return Card(
        mode=mode,
        mine=caller.player_id,
        window=window,
        title=words.window_name(window),
        rows=rows_of(board, entries, before=None, mine=caller.player_id, now=now),
        spare=range(TOP - len(entries)),
        total=numbers.whole(state.total if state else 0),
        resets_at=ends,
        left=times.left(ends, now=now) if ends else "",
        available=state is not None,
    )


def top(board: Board, limit: int) -> BoardState | None:
    """None: the boards do not answer, and the page goes on without."""
    try:
        return board_state(board, asked=BoardQuery(limit=limit))
    except Unavailable:
        return None
