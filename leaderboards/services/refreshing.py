"""Keeps the histograms of large boards fresh that moved and were read lately; tells how old and how wrong they were."""

from datetime import datetime
from random import sample
from time import monotonic

import structlog

from config.errors import NotFound, Unavailable
from config.metrics import HISTOGRAM_AGE, HISTOGRAM_ERROR
from leaderboards.boards import published
from leaderboards.boards.board import Board, board_named
from leaderboards.boards.histogram import errors, histogram_make
from leaderboards.models import Mode

log = structlog.get_logger(__name__)
SECONDS_A_LOOK = 1.5


def histograms_refresh(*, now: datetime) -> int:
    """How many were made. Where there are more than a look has time for, they come as chance has it."""
    began, ages = monotonic(), []
    boards = _read_lately(now)
    for board in sample(boards, len(boards)):
        if monotonic() - began > SECONDS_A_LOOK:
            break
        try:
            age = _refreshed(board, now)
        except Unavailable:  # its boards are being made again: the next look finds them
            log.warning("histogram_not_made", mode=board.mode.pk, window=board.window.id, scope=board.scope)
            continue
        if age is not None:
            ages.append(age)
    HISTOGRAM_AGE.set(max(ages, default=0.0))
    return len(ages)


def _read_lately(now: datetime) -> list[Board]:
    noted = list(published.read_lately(at=now))
    modes = Mode.objects.in_bulk({mode for mode, _, _ in noted})
    boards = []
    for mode, window, scope in noted:
        try:
            boards.append(board_named(mode=modes[mode], window=window, scope=scope, at=now))
        except (KeyError, NotFound):  # the mode is gone, or the window's board has expired
            continue
    return boards


def _refreshed(board: Board, now: datetime) -> float | None:
    """The age that the one before had reached; None where it is still good, or where readers make their own."""
    before = published.published(board)
    answers = board.read("range", 0, 0)
    if before and before[0].version == sum(answer.mark for answer in answers):
        published.renew(board)
        return None
    made = histogram_make(board)
    if made.whole:
        return None
    for share in errors(board, before[0].histogram if before else made.histogram):  # as readers are told them now
        HISTOGRAM_ERROR.observe(share)
    published.publish(board, made, at=now)
    return max(0.0, (now - before[1]).total_seconds()) if before else 0.0
