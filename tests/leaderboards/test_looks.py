"""A look takes some of what is pending, and all where that is needed; what it stamped is sent while the next is."""

import pytest
from django.utils import timezone

from leaderboards import drain, stamp
from leaderboards.boards.store import NotBuilt
from leaderboards.models import Outbox
from tests.leaderboards.summed import Summed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Summed:
    monkeypatch.setattr(stamp, "ROWS_A_LOOK", 2)
    monkeypatch.setattr(drain, "_TURN", 1e9)  # however slow the machine is
    return Summed(shards=1, seed="any")


def _submit(world: Summed, times: int) -> None:
    for _ in range(times):
        world.submit([world.attempt(world.players[0])])


def test_a_look_takes_the_oldest_commits_and_leaves_the_others_for_the_next(world: Summed) -> None:
    world.drain()
    _submit(world, 5)
    pending = list(Outbox.objects.order_by("pk").values_list("pk", flat=True))
    world.stamp()
    assert list(Outbox.objects.order_by("pk").values_list("pk", flat=True)) == pending[2:]
    world.drain()
    world.check()


def test_a_recount_meets_all_that_is_pending_and_counts_it_once(world: Summed) -> None:
    _submit(world, 1)
    world.drain()
    world.retell(world.players[0])
    _submit(world, 4)
    world.drain()
    world.check()


def test_boards_that_are_not_there_when_the_last_is_sent_are_rung_for(
    world: Summed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn is over, or another has the stream by now."""
    world.drain()
    _submit(world, 5)
    world.take_the_ring()

    def lost(*_: object, **__: object) -> None:
        raise NotBuilt

    with monkeypatch.context() as patched:
        patched.setattr(drain, "_TURN", 0.0)
        patched.setattr(drain, "stream_send", lost)
        drain.stream_drain(mode_id=world.mode.pk, shard=0, now=timezone.now())
    assert world.take_the_ring()
    world.drain()
    world.check()
