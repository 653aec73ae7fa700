"""Where scores lie among all of a board: even steps from the worst to the best, counted from the board's histogram."""

from collections.abc import Sequence
from typing import NamedTuple

from anticheat.pictures import Bar, Mark
from leaderboards.boards.board import Board
from leaderboards.histograms import histograms
from leaderboards.rules import encoding

STEPS = 48


class Spread(NamedTuple):
    bars: list[Bar]
    marks: list[Mark]
    ends: tuple[str, str]
    total: int


def spread(board: Board, scores: Sequence[tuple[int, str, str]]) -> Spread:
    """`scores`: raw, of which kind, in words. Better stands to the right."""
    found = histograms.of(board)
    own = [board.placing.key(raw) for raw, _, _ in scores]
    if not found.total and not own:
        return Spread([], [], ("", ""), 0)
    least, most = min([*found.keys[-1:], *own]), max([*found.keys[:1], *own])
    width = max(1, -(-(most - least + 1) // STEPS))
    steps = range(least, most + 1, width)
    bars = [Bar(found.count_above(key - 1) - found.count_above(key + width - 1), "") for key in steps]
    bars = [
        Bar(max(bar.members, 0), f"{bar.members} from {_score(board, key)} to {_score(board, key + width - 1)}")
        for key, bar in zip(steps, bars, strict=True)
    ]
    marks = [
        Mark((key - least + 0.5) / (width * len(bars)), kind, words)
        for key, (_, kind, words) in zip(own, scores, strict=True)
    ]
    return Spread(bars, marks, (_score(board, least), _score(board, least + width * len(bars) - 1)), found.total)


def rank_of(board: Board, raw: int) -> int:
    """About the rank that this score has, or would have."""
    return histograms.of(board).rank(board.placing.key(raw))


def _score(board: Board, key: int) -> str:
    return str(encoding.unscale(board.placing.score(key << board.placing.bits), board.mode.decimals))
