"""The bell is rung meanwhile: nobody waits for it, and no ring is lost while the broker is away."""

import time
from collections.abc import Iterator
from threading import Event

import pytest

from leaderboards import outbox


class Bell:
    """Rings once the broker is there."""

    def __init__(self) -> None:
        self.rung: list[outbox.Stream] = []
        self.broker = Event()

    def ring(self, mode: int, shard: int) -> None:
        self.broker.wait(10)
        self.rung.append((mode, shard))

    def wait_for(self, many: int) -> None:
        deadline = time.monotonic() + 10
        while len(self.rung) < many and time.monotonic() < deadline:
            time.sleep(0.01)


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bell]:
    made = Bell()
    monkeypatch.setattr(outbox, "_ring", made.ring)
    monkeypatch.setattr(outbox, "_ringer", None)
    outbox.ring_meanwhile()
    yield made
    made.broker.set()


def test_who_commits_does_not_wait_and_each_stream_waits_once(bell: Bell) -> None:
    for _ in range(1000):
        outbox.ring([(1, 0), (1, 1)])
    assert bell.rung == []
    bell.broker.set()
    bell.wait_for(3)
    assert set(bell.rung) == {(1, 0), (1, 1)}
    assert len(bell.rung) <= 4  # one that was under way, and one for all that came since


def test_what_is_committed_while_the_bell_is_rung_rings_anew(bell: Bell) -> None:
    outbox.ring([(1, 0)])
    time.sleep(0.1)  # it is being rung for
    outbox.ring([(1, 0)])
    bell.broker.set()
    bell.wait_for(2)
    assert bell.rung == [(1, 0), (1, 0)]
