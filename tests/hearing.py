"""Until what earlier tests told is heard: it would make this one forget in the middle of things."""

import time

from config import recall, valkey
from config.recall import Shelf, changes


def all_heard() -> None:
    probe: Shelf[int, int] = Shelf("probe", lambda _: {})
    changes.begin_to_listen()
    deadline = time.monotonic() + 10
    while not probe._drops and time.monotonic() < deadline:  # noqa: SLF001
        if changes.epoch is not None:
            valkey.publish(recall.channel(), "probe 1")  # behind all that was told before
        time.sleep(0.02)
    recall._shelves.pop("probe", None)  # noqa: SLF001
    assert changes.epoch is not None
