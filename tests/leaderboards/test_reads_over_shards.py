"""What is read from several shards in one trip is of one moment, however much is asked and whoever writes meanwhile."""

import threading

from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot

SHARDS = [Slot(1, shard, 1) for shard in range(4)]


def _write(ended: threading.Event) -> None:
    """To one shard after the other, again and again: no shard is ever ahead of one that is written before it."""
    number = 0
    while not ended.is_set():
        number += 1
        for slot in SHARDS:
            store.apply(slot, number, [Change("alltime", "global", 0, [(number, 5)], [])], at=1, width=0)


def test_no_shard_is_read_later_than_another() -> None:
    for slot in SHARDS:
        store.built(slot, store.begin(slot), 0, at=1)
    members = [store.member(player) for player in range(1000)]  # more than a server takes in at a gulp
    ended = threading.Event()
    writer = threading.Thread(target=_write, args=[ended])
    writer.start()
    try:
        for _ in range(300):
            marks = [answer.mark for answer in store.read("places", SHARDS, "alltime", "global", *members)]
            assert marks == sorted(marks, reverse=True)
            assert marks[0] - marks[-1] <= 1
    finally:
        ended.set()
        writer.join()
