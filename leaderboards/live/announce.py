"""The worker's part: what has changed and is watched, read once and sent to every web process that watches it."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from random import sample
from time import monotonic

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from msgspec.structs import replace

from config import valkey
from config.errors import NotFound, Unavailable
from config.metrics import ANNOUNCEMENTS
from leaderboards import keys
from leaderboards.boards.board import Board, board_named
from leaderboards.ghosts import seen_by
from leaderboards.live import announcements, watching
from leaderboards.live.announcements import FORMAT, Announcement, Top
from leaderboards.live.states import ranks_of, top_of
from leaderboards.live.watching import Watchers
from leaderboards.models import Mode
from players.shadows import shadows_look_again

log = structlog.get_logger(__name__)
_AT_ONCE = 50  # boards
_PATIENCE = 5.0  # seconds, for the channel layer
_TURN = 1.0  # seconds, then others have the worker: boards may be marked faster than they are announced
_SECONDS_A_SWEEP = 1.5


def boards_announce(*, now: datetime) -> int:
    """How many were. Whatever fails here, the sweep finds."""
    watching.answer()
    began, announced = monotonic(), 0
    while marked := watching.take(_AT_ONCE):
        at = now + timedelta(seconds=monotonic() - began)  # midnight may have passed, and a ban made since holds
        found = [one for board in marked if (one := _made(board, at)) is not None]
        _send(found)
        announced += len(found)
        if monotonic() - began > _TURN:
            watching.ring()  # there may be more
            break
    return announced


def boards_sweep(*, now: datetime) -> int:
    """Has those announced that show something else than was announced last: names that changed, midnight, rings that
    were lost. How many; where there are more than a look has time for, they come as chance has it.
    """
    began, boards = monotonic(), watching.boards(at=now)
    last, changed = dict(zip(boards, watching.last_told(boards), strict=True)), []
    for board in sample(boards, len(boards)):
        if monotonic() - began > _SECONDS_A_SWEEP:
            break
        found = _made(board, now)
        if found is not None and found.digest != last[board]:
            changed.append(board)
    watching.mark(changed)
    return len(changed)


def _made(mark: str, now: datetime) -> Announcement | None:
    """None where there is nothing to show: the mode is gone, the window's board has expired or is being made again."""
    board, unseen = watching.marked_as(mark)
    try:
        asked = watching.named(board)
        mode = Mode.objects.select_related("game").get(pk=asked.mode)
        found = board_named(mode=mode, window=asked.window, scope=asked.scope, at=now)
        watchers = watching.watchers(board, at=now)
        return _announcement(board, found, watchers, now, unseen=unseen) if any(watchers) else None
    except (Mode.DoesNotExist, NotFound):
        return None
    except Unavailable:
        log.warning("board_not_announced", board=board, consequence="the sweep does")
    except Exception:
        log.exception("board_not_announced", board=board)
    return None


def _announcement(name: str, board: Board, on: Watchers, now: datetime, *, unseen: bool) -> Announcement | None:
    """`unseen`: of what ghosts are shown, and to nobody else; None where none of them watches."""
    known = {*on.players, *on.themselves}
    if unseen:
        shadows_look_again()
        if not _viewers(board, known, now):
            return None
    top, ranks = _top(board, on), ranks_of(board, [*{*on.followed, *on.themselves}])
    if known:
        shadows_look_again()  # who was shadow banned and is off the top just read must not be shown it
    viewers = _viewers(board, known, now)
    return Announcement(
        FORMAT,
        name,
        0,
        top,
        frozenset(on.players).difference(viewers),
        {one: top_of(viewers[one], on.limit) for one in on.players if one in viewers and on.limit},
        {one: ranks_of(viewers[one], [one])[one] if one in viewers else ranks[one] for one in on.themselves},
        {one: ranks[one] for one in on.followed},
        frozenset(viewers) if unseen else None,
    )


def _viewers(board: Board, players: Iterable[str], now: datetime) -> dict[str, Board]:
    return {one: seen for one in players if (seen := seen_by(board, one, at=now)) is not board}


def _top(board: Board, on: Watchers) -> Top | None:
    return top_of(board, on.limit) if on.limit else None


def _send(found: Sequence[Announcement]) -> None:
    if not found:
        return
    numbers = watching.numbered([one.board for one in found])
    numbered = [replace(one, number=number) for one, number in zip(found, numbers, strict=True)]
    with valkey.answering("channels"):
        async_to_sync(_spread)(numbered)
    # what was announced to some may hold what is new to others too, who are told by a ring of its own, or by the sweep
    watching.told({one.board: one.digest for one in found if one.only is None})
    ANNOUNCEMENTS.inc(len(found))


async def _spread(found: Sequence[Announcement]) -> None:
    layer = get_channel_layer()
    async with asyncio.timeout(_PATIENCE):
        for one in found:
            await layer.group_send(keys.live_group(one.board), {"type": "board", "body": announcements.encode(one)})
