"""Rendered boards, kept while nothing has changed them. Nobody is shown what is more than a second old."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import structlog
from django.conf import settings
from django.core.cache import cache

from config import recall, wire
from config.api import Shown
from config.errors import InvalidRequest
from leaderboards import tops
from leaderboards.board_states import board_state
from leaderboards.boards import store
from leaderboards.boards.board import Board
from leaderboards.boards.guard import guard
from leaderboards.boards.store import Slot
from leaderboards.fastlane.calls import Call, canonical
from leaderboards.wire_scores import BoardQuery

log = structlog.get_logger(__name__)
SECONDS = 1.0  # names and faces are not in the boards: they may be as old
MOST_BYTES = 64 * 1024 * 1024
_HEARD = 0.001  # seconds: thousands are shown the same page meanwhile
_OVERHEAD = 2000  # bytes, about, of what is kept beside a page
_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    shown: Shown
    slots: Sequence[Slot]
    changes: int
    epoch: int
    until: float  # monotonic seconds
    query: bytes  # that it is kept under

    @property
    def weight(self) -> int:
        return len(self.shown.body) + len(self.shown.packed or b"") + len(self.query) + _OVERHEAD

    @property
    def is_good(self) -> bool:
        alike = self.epoch == recall.changes.epoch and time.monotonic() < self.until
        return alike and self.changes == guard.changes(self.slots, within=_HEARD)


_kept: dict[_Key, _Kept] = {}
_bytes = 0


def public_page(call: Call) -> Shown | None:
    """Without asking anybody: the game was public, and what was shown is still so."""
    if b"authorization" in call.headers:
        return None
    try:
        found = _kept.get(_public(call))
    except InvalidRequest:
        return None
    return found.shown if found is not None and found.is_good else None


def page(call: Call, board: Board, asked: BoardQuery, *, public: bool) -> Shown:
    if board.viewer is not None:  # nobody else is to be shown it
        return Shown.of(wire.encode(board_state(board, asked=asked)))
    key = (board, canonical(call.query_string, BoardQuery))
    found = _kept.get(key)
    if found is None or not found.is_good:
        found = _made(board, call, asked)
        if found is None:
            return Shown.of(wire.encode(board_state(board, asked=asked)))
        _keep(key, found)
    if public:
        _keep(_public(call), found)
    return found.shown


def forget() -> None:
    global _bytes  # noqa: PLW0603 - beside what it measures
    _kept.clear()
    _bytes = 0


def _keep(key: _Key, found: _Kept) -> None:
    """Bounded by what it may weigh: what is thrown away then is made again when it is asked for."""
    global _bytes  # noqa: PLW0603 - as above
    before = _kept.get(key)
    more = found.weight - (before.weight if before else 0)
    if _bytes + more > MOST_BYTES:
        forget()
        more = found.weight
    _bytes += more
    _kept[key] = found


def _public(call: Call) -> _Key:
    return call.game, call.mode, call.window, canonical(call.query_string, BoardQuery)


def _made(board: Board, call: Call, asked: BoardQuery) -> _Kept | None:
    """None where what changes cannot be heard: then nothing is kept."""
    slots, epoch, began = board.slots, recall.changes.epoch, time.monotonic()
    changes = guard.changes(slots)
    if changes is None or epoch is None:
        return None
    shown, age = _shared(board, call, asked)
    return _Kept(shown, slots, changes, epoch, began + SECONDS - age, canonical(call.query_string, BoardQuery))


def _shared(board: Board, call: Call, asked: BoardQuery) -> tuple[Shown, float]:
    """One process makes it for all, where there are several. And its age in seconds, when it was asked for."""
    if settings.WEB_PROCESSES == 1:
        return _rendered(board, asked)
    now, marks = time.time(), [store.mark(slot) for slot in board.slots]
    query = blake2b(canonical(call.query_string, BoardQuery), digest_size=16).hexdigest()
    key = f"page:{board.mode.pk}:{board.mode.generation}:{board.window.id}:{board.scope}:{query}"
    known = cache.get(key[:200])
    if known is not None and known[0] == (key, marks) and 0 <= now - known[1] < SECONDS:
        return Shown(*known[2:]), now - known[1]
    shown, age = _rendered(board, asked)
    cache.set(key[:200], ((key, marks), now - age, shown.body, shown.etag, shown.packed), SECONDS)
    return shown, age


def _rendered(board: Board, asked: BoardQuery) -> tuple[Shown, float]:
    """And the age of what it was made of, which may have been replaced meanwhile."""
    before = tops.age(board)
    shown = Shown.of(wire.encode(board_state(board, asked=asked)))
    return shown, max(before, tops.age(board))
