"""Notices what happens on boards, after a batch was sent: a look a second at their heads, whatever the number of
scores. Nobody waits for it, and nothing it meets fails anybody.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import sleep

import structlog
from django.db import connections

from config import clock
from leaderboards import happenings
from leaderboards.boards.board import Board, Entry, Page, Position, board_named
from leaderboards.boards.store import Change
from leaderboards.ghosts import hidden_of, position
from leaderboards.happenings import Happened, Seen
from leaderboards.models import Mode
from leaderboards.ranking import page
from leaderboards.rules.happenings import TOP, Kind, happened, is_notable
from leaderboards.rules.instants import micros
from leaderboards.rules.windows import KINDS, longest
from leaderboards.whereabouts import standing

log = structlog.get_logger(__name__)
EVERY = 1.0  # seconds between two looks at a mode: it shares a process with who drains
BEST_EVERY = 5.0  # seconds: somebody always has a best, and leaders are not to be pushed out by them
_NEW = timedelta(minutes=1)  # a mode whose first score came so lately had no leader before
_GHOSTS = 20  # of a mode, whose own feeds are looked after with each look
_KINDS = list(Kind)


def activity_note(mode: Mode, changes: Sequence[Change]) -> None:
    """That this was sent: in a worker, the boards are looked at meanwhile. What any other process sends (a command that
    repairs) is told by the next look.
    """
    if _noticer is not None:
        _noticer.note(mode, _best(mode, changes))


def note_meanwhile() -> None:
    global _noticer  # noqa: PLW0603 - said once, when a worker begins
    _noticer = _Noticer()


def _best(mode: Mode, changes: Sequence[Change]) -> Position | None:
    """Of a batch, in the longest window: who has the best of those that were just had."""
    if mode.aggregation != "best":
        return None  # totals always rise, and the latest is not the best
    kind = longest(mode.windows)
    put = [change.put for change in changes if change.scope == "global" and change.window.startswith(kind)]
    return max((max(some) for some in put if some), default=None)


class _Noticer:
    """Looks in a thread of its own."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[Mode, Position | None]] = {}
        self._lock, self._woken = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, mode: Mode, best: Position | None) -> None:
        with self._lock:
            known = self._due.get(mode.pk, (mode, None))[1]
            self._due[mode.pk] = mode, max((one for one in (known, best) if one), default=None)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="notice", daemon=True)
                self._thread.start()
        self._woken.set()

    def _run(self) -> None:
        while self._woken.wait():
            self._woken.clear()
            with self._lock:
                due, self._due = self._due, {}
            for mode, best in due.values():
                self._look(mode, best)
            sleep(EVERY)

    def _look(self, mode: Mode, best: Position | None) -> None:
        try:
            if happenings.is_our_turn(mode, seconds=EVERY * 0.9):
                mode_look(mode=mode, best=best, now=clock.now())
            else:
                self.note(mode, best)  # another process looks just now, and may not see it yet
        except Exception:  # noqa: BLE001 - whatever the stores say, the next look tells what this one would have
            log.warning("activity_not_noted", mode=mode.pk)
        finally:
            connections.close_all()  # this thread's own


_noticer: _Noticer | None = None


def mode_look(*, mode: Mode, best: Position | None, now: datetime) -> list[Happened]:
    """Compares the heads of the boards with what was seen last; what has happened, the greatest last."""
    kinds = [kind for kind in KINDS[::-1] if kind in mode.windows]
    boards = [replace(board_named(mode=mode, window=kind, scope="global", at=now), fresh=True) for kind in kinds]
    was = happenings.seen(mode)
    for viewer in hidden_of(mode, at=now, most=_GHOSTS):
        _ghost_look(boards, viewer, best, was, now)
    found, seen = _looked(boards, best, was, now)
    happenings.add(mode, found, seen)
    return found


def _ghost_look(boards: Sequence[Board], viewer: int, best: Position | None, was: Seen | None, now: datetime) -> None:
    """The same for a shadow-banned player, as if it were free: its own feed, from its ban on."""
    mode = boards[0].mode
    happenings.begin(mode, viewer)
    own = [replace(board, viewer=viewer) for board in boards]
    known = happenings.seen(mode, viewer) or was
    mine = position(own[0]) if mode.aggregation == "best" else None
    if mine is not None and known is not None and _is_newer(own[0], mine, known):
        best = max(best or mine, mine)
    found, seen = _looked(own, best, known, now)
    happenings.add(mode, found, seen, viewer)


def _is_newer(board: Board, mine: Position, known: Seen) -> bool:
    at = board.placing.read([mine[0]])[0][1]
    return at is not None and at.timestamp() > known.at


def _looked(
    boards: Sequence[Board], best: Position | None, was: Seen | None, now: datetime
) -> tuple[list[Happened], Seen]:
    heads = [page(board, offset=0, limit=TOP) for board in boards]
    told = _told(boards, heads, was, now)
    bested_at = was.bested_at if was else 0.0
    bests = list[Happened]()
    if now.timestamp() - bested_at >= BEST_EVERY:
        bests = [one for one in told if one.kind is Kind.NEW_BEST] or _beyond(boards[0], heads[0], best, now)
        bested_at = now.timestamp() if bests else bested_at
    found = bests[-1:] + [one for one in told if one.kind is not Kind.NEW_BEST]
    seen = {board.window.id: _positions(board, head.entries) for board, head in zip(boards, heads, strict=True)}
    return found, Seen(now.timestamp(), bested_at, seen)


def _told(boards: Sequence[Board], heads: Sequence[Page], was: Seen | None, now: datetime) -> list[Happened]:
    """Of each player the greatest, in the longest window: who leads for all time leads today as well. Greatest last."""
    greatest: dict[int, Happened] = {}
    for board, head in zip(boards, heads, strict=True):
        before = _before(board, was, now)
        for kind, index in happened(before, _positions(board, head.entries)) if before is not None else ():
            if kind is Kind.NEW_BEST and (board is not boards[0] or board.mode.aggregation != "best"):
                continue
            one = _happened(kind, board, head.entries[index], now)
            known = greatest.get(one.player)
            if known is None or _KINDS.index(kind) < _KINDS.index(known.kind):
                greatest[one.player] = one
    return sorted(greatest.values(), key=lambda one: (-_KINDS.index(one.kind), -one.rank))


def _before(board: Board, was: Seen | None, now: datetime) -> Sequence[Position] | None:
    """The head that was seen last; None: nobody knows what it was."""
    starts_at, first = board.window.starts_at, board.mode.first_score_at
    if was is None:
        return [] if first is not None and now - first < _NEW else None
    if board.window.id in was.heads:
        return was.heads[board.window.id]
    return [] if starts_at is not None and starts_at.timestamp() >= was.at else None


def _beyond(board: Board, head: Page, best: Position | None, now: datetime) -> list[Happened]:
    """The batch's best, where that is beyond the head."""
    if best is None or best[1] in {entry.player for entry in head.entries}:
        return []
    totals, own = standing(board, best[1])
    if own is None or not is_notable(own.rank, totals.total):
        return []
    return [_happened(Kind.NEW_BEST, board, own, now)]


def _happened(kind: Kind, board: Board, entry: Entry, now: datetime) -> Happened:
    return Happened(kind, entry.player, board.window.id, entry.score, entry.rank, micros(now))


def _positions(board: Board, entries: Sequence[Entry]) -> list[Position]:
    return [
        (board.placing.place(entry.score, micros(entry.achieved_at) if entry.achieved_at else 0), entry.player)
        for entry in entries
    ]
