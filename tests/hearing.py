"""What earlier tests told is heard first, else it would make this one forget in the middle. And a guard that hears."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from config import recall, valkey
from config.recall import Shelf, changes
from leaderboards.boards.guard import Guard


@contextmanager
def guarded(monkeypatch: pytest.MonkeyPatch, *modules: str) -> Iterator[Guard]:
    """One without a thread of its own, in place of that of these modules: what it knows, a reader has heard."""
    own = Guard()
    own._events.open()  # noqa: SLF001
    for module in ("leaderboards.boards.board", *modules):
        monkeypatch.setattr(f"{module}.guard", own)
    yield own
    own._events.close()  # noqa: SLF001


def all_heard() -> None:
    probe: Shelf[int, int] = Shelf("probe", lambda _: {})
    changes.begin_to_listen()
    deadline = time.monotonic() + 60
    while not probe._drops and time.monotonic() < deadline:  # noqa: SLF001
        if changes.epoch is not None:
            valkey.publish(recall.channel(), "probe 1")  # behind all that was told before
        time.sleep(0.02)
    recall._shelves.pop("probe", None)  # noqa: SLF001
    assert changes.epoch is not None
