"""Ranks that cost no rank query: told from a board's histogram, seconds old at most."""

from msgspec import Struct

from config.errors import InvalidRequest
from leaderboards.boards.board import Board
from leaderboards.ghosts import Ghost
from leaderboards.histograms import histograms
from leaderboards.reading import steady
from leaderboards.rules import encoding
from leaderboards.rules.histogram import Histogram, Part, with_member
from leaderboards.wire_estimates import BucketState, DistributionState, PreviewQuery, PreviewState


class Moved(Struct, frozen=True):
    """From where to where a score moves its player; None where there is no rank to speak of."""

    rank_before: int | None
    rank_after: int | None
    total: int


def preview_state(board: Board, *, asked: PreviewQuery) -> PreviewState:
    try:
        score = encoding.scale(asked.score, board.mode.decimals)
    except ValueError as error:
        raise InvalidRequest(f"score: {error}", errors={"score": [str(error)]}) from None
    found = _histogram(board)
    return PreviewState(
        score=encoding.unscale(score, board.mode.decimals),
        rank=found.rank(board.placing.key(score)),
        total=found.total,
        estimate=True,
    )


def distribution_state(board: Board, *, buckets: int) -> DistributionState:
    found = _histogram(board)
    states = [_bucket(board, part) for part in found.parts(buckets)]
    return DistributionState(
        buckets=states[::-1] if board.placing.sign > 0 else states, total=found.total, estimate=True
    )


def _histogram(board: Board) -> Histogram:
    found, ghost = histograms.of(board), _ghost(board)
    return with_member(found, ghost.key) if ghost else found


def _ghost(board: Board) -> Ghost | None:
    if board.viewer is None or board.is_untouched:
        return None
    return steady(board, lambda reading: reading.ghost)


def _bucket(board: Board, part: Part) -> BucketState:
    ends = (board.placing.score(key << board.placing.bits) for key in (part.worst, part.best))
    least, most = (encoding.unscale(raw, board.mode.decimals) for raw in sorted(ends))
    return BucketState(from_=least, to=most, count=part.members)


def moved(board: Board, *, before: int | None, after: int | None, total: int, version: int) -> Moved:
    """By a score that makes what the board has of a player `after` of what was `before`, both raw; None: not on it.

    `total` and `version` as seen with `before`. Who does not climb is told the same rank twice.
    """
    found = histograms.of(board, version=version)
    if after is None:
        return Moved(None, None, total)
    key, total = board.placing.key(after), total + (before is None)
    old = None if before is None else board.placing.key(before)
    if old is not None and _ghost(board):
        found = with_member(found, old)
    rank = min(found.rank(key, without=old), total)
    if old is None:
        return Moved(None, rank, total)
    return Moved(min(found.rank(old), total) if key > old else rank, rank, total)
