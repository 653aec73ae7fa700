"""The windows of a mode as tabs. Seasons and past windows get theirs here when they come."""

from dataclasses import dataclass
from datetime import datetime

from leaderboards.boards.board import Board
from leaderboards.pages import words


@dataclass(frozen=True, slots=True)
class Tab:
    window: str
    name: str
    current: bool


def tabs_of(board: Board, asked: str, *, now: datetime) -> list[Tab]:
    """Those that run; and the one that is looked at, where it is over."""
    tabs = [Tab(kind, words.window_name(kind), kind == asked) for kind in board.mode.windows]
    if not any(tab.current for tab in tabs):
        tabs.append(Tab(asked, words.window_title(board.window, zone=board.mode.timezone, now=now), current=True))
    return tabs
