"""Looking for a player on a board."""

from datetime import datetime

from leaderboards.board_states import lookup_state
from leaderboards.boards.board import Board
from leaderboards.pages.rows import Row, rows_of
from players.selectors import players_beginning

MOST = 20
LONGEST = 64


def found_on(board: Board, text: str, *, mine: str | None, now: datetime) -> list[Row]:
    """By how a name or an id begins; best ranks first, then those who are not on this board."""
    ids = players_beginning(game=board.mode.game_id, text=text, most=MOST)
    entries = lookup_state(board, player_ids=ids).entries if ids else []
    ordered = sorted(entries, key=lambda one: (one.rank is None, one.rank or 0))
    return rows_of(board, ordered, before=None, mine=mine, now=now)
