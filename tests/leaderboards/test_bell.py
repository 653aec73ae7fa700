"""The bell is rung meanwhile: nobody waits for it, and no ring is lost while the broker is away."""

import time
from collections.abc import Iterator
from threading import Event

import pytest
from django.conf import settings
from django.utils import timezone

from config import valkey
from leaderboards import drain, outbox
from tests.leaderboards.summed import Summed


class Bell:
    """Rings once the broker is there."""

    def __init__(self) -> None:
        self.rung: list[outbox.Stream] = []
        self.broker, self.begun = Event(), Event()

    def ring(self, mode: int, shard: int) -> None:
        self.begun.set()
        self.broker.wait(10)
        self.rung.append((mode, shard))

    def wait_for(self, many: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.rung) < many and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)  # for one too many


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
    bell.wait_for(2)
    assert set(bell.rung) == {(1, 0), (1, 1)}
    assert len(bell.rung) <= 4  # one that was under way, and one for all that came since


def test_what_is_committed_while_the_bell_is_rung_rings_anew(bell: Bell) -> None:
    outbox.ring([(1, 0)])
    assert bell.begun.wait(10)
    outbox.ring([(1, 0)])
    bell.broker.set()
    bell.wait_for(2)
    assert bell.rung == [(1, 0), (1, 0)]


@pytest.mark.django_db(transaction=True)
def test_a_board_that_is_lost_is_found_while_scores_come_that_do_not_touch_it() -> None:
    """Its reader meets a bell that is kept, by a drainer that has always something to do."""
    world = Summed(shards=1, seed="any")
    world.submit([world.attempt(world.players[0]) | {"dimensions": {"level": "2"}}])
    world.drain()
    boards = valkey.client(settings.VALKEY_URL)
    (lost,) = boards.scan_iter(match="lb:*alltime|level:2")
    boards.delete(lost)
    for whole in (False, True):
        world.submit([world.attempt(world.players[1]) | {"dimensions": {}}])
        drain._looked(world.mode.pk, 0, timezone.now(), drain._Sending(), whole=whole)  # noqa: SLF001
        assert bool(boards.exists(lost)) is whole
    world.check()


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_has_always_something_gives_way_to_others_and_rings_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Summed(shards=1, seed="any")
    world.take_the_ring()
    monkeypatch.setattr(drain, "_looked", lambda *_, **__: True)
    monkeypatch.setattr(drain, "_TURN", 0.2)
    drain.stream_drain(mode_id=world.mode.pk, shard=0, now=timezone.now())
    assert world.take_the_ring()
