"""The heads of boards over several shards: merged at most once a second, for all who read them (docs/adr/0012)."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from leaderboards.boards.board import Board, Page, Position
from leaderboards.boards.guard import guard
from leaderboards.reading import Reading, merged, ranks_of_run, steady

DEPTHS = (100, 1000)  # entries; most want the first few, which cost a tenth
SECONDS = 1.0
_MOST = 200


@dataclass(frozen=True, slots=True)
class _Top:
    """All of one moment."""

    totals: Page
    run: list[Position]
    ranks: list[int]
    until: float  # monotonic seconds
    ours: Callable[[], bool]  # nobody else has written to boards since

    @property
    def is_good(self) -> bool:
        return time.monotonic() < self.until and self.ours()


@dataclass(slots=True)
class _Spot:
    """Where a board's is kept. Who holds the lock makes it, the others wait."""

    top: _Top | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_spots: dict[object, _Spot] = {}


def serves(board: Board, *, upto: int) -> bool:
    """Not for who knows what should be there or sees what nobody else does, nor while changes cannot be heard."""
    if board.mode.shards == 1 or upto > DEPTHS[-1] or board.fresh or board.viewer is not None:
        return False
    return guard.changes(board.slots) is not None


def page(board: Board, *, offset: int, limit: int) -> Page:
    end = offset + limit
    top = _shared(board, next(depth for depth in DEPTHS if end <= depth))
    run = top.run[offset:end]
    return replace(
        top.totals,
        entries=board.entries(run, top.ranks[offset:end]),
        more_before=bool(run) and offset > 0,
        more_after=bool(run) and offset + len(run) < top.totals.total,
    )


def age(board: Board) -> float:
    """In seconds, of the oldest that is shared of it; 0 where nothing is."""
    now, spots = time.monotonic(), [_spots.get(_key(board, depth)) for depth in DEPTHS]
    ends = [spot.top.until for spot in spots if spot and spot.top and now < spot.top.until]
    return now - (min(ends) - SECONDS) if ends else 0.0


def forget() -> None:
    _spots.clear()


def _key(board: Board, depth: int) -> object:
    mode = board.mode
    return mode.pk, mode.generation, mode.shards, mode.ranking, board.window.id, board.scope, depth


def _shared(board: Board, depth: int) -> _Top:
    key = _key(board, depth)
    if key not in _spots and len(_spots) >= _MOST:
        _spots.clear()
    spot = _spots.setdefault(key, _Spot())
    if spot.lock.acquire(blocking=False):
        try:
            if spot.top is None or not spot.top.is_good:
                spot.top = _made(board, depth)
            return spot.top
        finally:
            spot.lock.release()
    with spot.lock:  # until who is making it has done so
        top = spot.top
    return top if top and top.is_good else _made(board, depth)  # or has failed: then not one after the other


def _made(board: Board, depth: int) -> _Top:
    until, ours = time.monotonic() + SECONDS, guard.watch(board.slots)

    def act(reading: Reading) -> _Top:
        """In one trip: before the first nobody stands, so that no rank has to be asked for."""
        run = merged(answer.rest[0] for answer in reading.ask("range", 0, depth - 1))[:depth]
        keys = [place >> board.placing.bits for place, _ in run]
        ranks = ranks_of_run(board.mode.ranking, keys, 0, 0) if run else []
        return _Top(reading.page([]), run, ranks, until, ours)

    return steady(board, act)
