"""Hands other than ours on the boards. The server tells of every change to a board; those that do not lie between the
beginning and the end of an act of our own are somebody else's, and what was read since is not believed.

An answer is held against what the server has told until then: docs/adr/0014.
"""

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog

from config.key_events import KeyEvents
from config.metrics import BOARDS_ALTERED
from config.valkey import ValkeyUnavailable
from leaderboards import keys, outbox
from leaderboards.boards import store
from leaderboards.boards.store import Slot

log = structlog.get_logger(__name__)
_KEY = re.compile(r"lb:\{(\d+)\.(\d+)\}:g(\d+):(state|b:.*)", re.DOTALL)
_HARMLESS = {"expire", "expired", "del", "persist"}  # a board that is gone is missed by whoever asks for it


class Guard:
    def __init__(self) -> None:
        self._events = KeyEvents(keys.told_of(), on_event=self.hear)
        self._busy: set[Slot] = set()  # in an act of our own
        self._altered: set[Slot] = set()  # and not begun anew yet
        self._raised = 0
        self._changes: dict[Slot, int] = {}

    def begin(self) -> None:
        self._events.begin()

    def changes(self, slots: Sequence[Slot], *, within: float = 0.0) -> int | None:
        """How often any of them has changed, as far as the server has told by now, or so many seconds ago; None where
        it tells nothing.
        """
        self._events.hear(within=within)
        if not self._events.is_listening:
            return None
        return sum(self._changes.get(slot, 0) for slot in slots)

    def watch(self, slots: Sequence[Slot]) -> Callable[[], bool]:
        """To be called before reading; what it gives, after: whether what was read is all ours."""
        raised, losses = self._raised, self._events.losses

        def ours() -> bool:
            self._events.catch_up()
            if losses != self._events.losses:
                return False  # what was told meanwhile is lost
            altered = self._altered.intersection(slots)
            for slot in altered:
                _distrust(slot)  # it may have failed before
            return not altered and raised == self._raised

        return ours

    def hear(self, key: str, event: str) -> None:
        named = _KEY.fullmatch(key)
        if named is None:
            return
        slot = Slot(int(named[1]), int(named[2]), int(named[3]))
        self._changes[slot] = self._changes.get(slot, 0) + 1
        if named[4] != "state":
            if slot not in self._busy and event not in _HARMLESS:
                self._raise(slot, event)
        elif event == "hset":
            self._busy.add(slot)
        else:
            self._busy.discard(slot)
            if event == "del":  # it is filled anew
                self._altered.discard(slot)

    def _raise(self, slot: Slot, event: str) -> None:
        self._raised += 1
        if slot in self._altered:
            return
        self._altered.add(slot)
        BOARDS_ALTERED.inc()
        log.warning("boards_altered", mode=slot.mode, shard=slot.shard, by=event, consequence="made again")
        # not here: whoever hears of it holds up all others who listen
        threading.Thread(target=_make_again, args=[slot], daemon=True).start()


def _make_again(slot: Slot) -> None:
    _distrust(slot)
    outbox.ring([(slot.mode, slot.shard)])


def _distrust(slot: Slot) -> None:
    with suppress(ValkeyUnavailable):  # who reads there tries again
        store.distrust(slot)


guard = Guard()
