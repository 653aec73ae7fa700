"""A mode as a card: the live top of its first window."""

from dataclasses import dataclass
from datetime import datetime

from config.errors import Unavailable
from config.valkey import ValkeyUnavailable
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


class Tops:
    """Of the boards of one page: where they do not answer once, the page goes on without any other. Each would be
    waited for as long, and there are few threads for pages.
    """

    def __init__(self) -> None:
        self._silent = False

    def of(self, board: Board, limit: int) -> BoardState | None:
        """None: the boards do not answer."""
        if self._silent:
            return None
        try:
            return board_state(board, asked=BoardQuery(limit=limit))
        except ValkeyUnavailable:
            self._silent = True
        except Unavailable:
            pass  # it is being made again, which says nothing of the others
        return None


def cards_of(game: GameRecord, caller: Caller, *, tops: Tops, now: datetime, most: int) -> tuple[list[Card], int]:
    """The open modes first; and how many there are beside those."""
    modes = list(Mode.objects.filter(game_id=game.pk).select_related("game").order_by("-active", "slug"))
    return [_card(mode, caller, tops, now) for mode in modes[:most]], max(0, len(modes) - most)


def _card(mode: Mode, caller: Caller, tops: Tops, now: datetime) -> Card:
    window = mode.windows[0]
    board = board_named(mode=mode, window=window, scope="global", at=now)
    board = seen_by(board, caller.player_id, at=now)
    state = tops.of(board, TOP)
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
