"""Whoever drains, rebuilds or submits is killed at any line of it: nothing acknowledged is lost or counted twice.

And whoever only stands still there, while scores come in and others drain, does no harm when it goes on.
What a death leaves behind changes only where something goes to a store, so a line in some of the stretches between is
taken; `RUNG_STEPS=1` takes one in each stretch, `RUNG_RANDOM=1` every line, the first and the last time that it is
reached, and mixes anew.
"""

import os
import random
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, product
from math import ceil

import pytest
from django.conf import settings

from leaderboards.models import Mode
from tests import live
from tests.leaderboards.summed import Summed
from tests.mortal import Moment, Mortal, Seen

THOROUGH = "RUNG_RANDOM" in os.environ
EVERY_STEP = "RUNG_STEPS" in os.environ
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(1800 if THOROUGH or EVERY_STEP else 300),
    pytest.mark.xdist_group("a victim"),  # one for all
]
SEED = secrets.token_hex(4) if THOROUGH else "the same every time"
STAMP = ("stamp", "resplit", "folding", "standings", "placements", "effects")
SEND = ("send", "outbox", "boards/store", "boards/rebuild")
DRAIN = [f"leaderboards/{name}.py" for name in ("drain", *STAMP, *SEND)]
REBUILD = [*DRAIN, "leaderboards/services/rebuilding.py"]
RESHARD = [*REBUILD, "leaderboards/services/resharding.py"]
SUBMIT = [f"leaderboards/{name}.py" for name in ("services/scores", "commit", "log", "outbox")]


@pytest.fixture(scope="module")
def _victim(django_db_setup: None) -> Iterator[Mortal]:
    one = Mortal({"DATABASE_URL": live.database_url(), "VALKEY_URL": settings.VALKEY_URL})
    yield one
    one.end()


@pytest.fixture
def victim(_victim: Mortal, transactional_db: None) -> Iterator[Mortal]:
    yield _victim
    _victim.leave()  # before the tables are emptied: it may hold them


def _chosen(seen: Seen, *, share: float) -> list[Moment]:
    """As many as there are stretches, times that share."""
    if THOROUGH:
        first = {where: (where, 1) for where, _, _ in seen}
        last = {where: (where, times) for where, times, _ in seen}
        stores = [(where, times) for where, times, _ in seen if where.startswith("store")]
        return sorted({*first.values(), *last.values(), *stores})
    share = max(share, 1.0) if EVERY_STEP else share
    chance = random.Random(SEED)  # noqa: S311 - a choice, not a secret
    stretches: dict[int, list[Moment]] = {}
    for where, times, stretch in seen:
        stretches.setdefault(stretch, []).append((where, times))
    found = [chance.choice(moments) for _ in range(ceil(share)) for moments in stretches.values()]
    return chance.sample(found, int(share * len(stretches)))


@contextmanager
def _told(moment: Moment) -> Iterator[None]:
    """A failure says where it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"It was at {moment}, seed {SEED!r}.")
        raise


def _nothing(world: Summed) -> None:
    pass


def _pend(world: Summed) -> None:
    """Numbers to send, and more to stamp."""
    if world.chance.random() < 0.5:
        world.submit([world.attempt() for _ in range(5)])
        world.stamp()
    world.correct()


def _several(world: Summed) -> None:
    """Commits, and nobody who is told anew."""
    world.stamp()
    for _ in range(3):
        world.submit([world.attempt() for _ in range(2)])


@dataclass(frozen=True)
class Act:
    name: str
    files: list[str]
    lose: Callable[[Summed], None] = _nothing

    def seen(self, victim: Mortal, world: Summed) -> Seen:
        """All of it, with numbers to send and corrections."""
        world.submit([world.attempt() for _ in range(5)])
        world.stamp()
        world.correct()
        self.lose(world)
        seen = victim.moments(self.name, self.files, mode=world.mode.pk)
        world.rest()
        world.check()
        return seen

    def dies_at_each(self, victim: Mortal, world: Summed, *, share: float) -> None:
        died, moments = 0, _chosen(self.seen(victim, world), share=share)
        for moment in moments:
            with _told(moment):
                _pend(world)
                self.lose(world)
                died += victim.dies(self.name, self.files, moment, mode=world.mode.pk)
                if world.chance.random() < 0.5:
                    world.submit([world.attempt() for _ in range(3)])
                world.rest()
                if self.lose is Summed.lose_one_board:
                    world.drain()  # one that no batch touched is met by a reader, who rings
                world.check()
        assert died > 0.5 * len(moments)  # not each mix comes back to a line as often


def test_a_drainer_that_dies_at_any_line_loses_nothing_and_counts_nothing_twice(victim: Mortal) -> None:
    Act("drain", DRAIN).dies_at_each(victim, Summed(shards=1, seed=SEED), share=0.6)


def test_a_drainer_that_dies_making_lost_boards_again_leaves_nothing_half_made(victim: Mortal) -> None:
    Act("drain", DRAIN, Summed.lose_everything).dies_at_each(victim, Summed(shards=1, seed=SEED), share=0.3)


def test_a_drainer_that_dies_at_a_board_that_is_missing_loses_nothing(victim: Mortal) -> None:
    Act("drain", DRAIN, Summed.lose_one_board).dies_at_each(victim, Summed(shards=1, seed=SEED), share=0.15)


def test_a_drainer_that_dies_while_it_stamps_and_sends_loses_nothing(victim: Mortal) -> None:
    Act("drain_row_by_row", DRAIN, _several).dies_at_each(victim, Summed(shards=1, seed=SEED), share=0.2)


def test_a_rebuild_that_dies_at_any_line_leaves_boards_that_are_right(victim: Mortal) -> None:
    Act("rebuild", REBUILD).dies_at_each(victim, Summed(shards=2, seed=SEED), share=0.4)


def test_a_drainer_that_dies_with_rows_of_other_shards_loses_nothing(victim: Mortal) -> None:
    Act("drain", DRAIN, Summed.misplace).dies_at_each(victim, Summed(shards=2, seed=SEED), share=0.2)


def test_a_move_to_other_shards_that_dies_at_any_line_leaves_boards_that_are_right(victim: Mortal) -> None:
    Act("reshard", RESHARD).dies_at_each(victim, Summed(shards=2, seed=SEED), share=0.12)


def test_a_submission_that_dies_at_any_line_and_is_sent_again_counts_once(victim: Mortal) -> None:
    world = Summed(shards=2, seed=SEED)
    numbers = count()

    def attempts() -> list[dict[str, object]]:
        """By new players and known, in a mode that locks its rules with them."""
        Mode.objects.update(first_score_at=None)
        return [world.attempt(), world.attempt(), world.attempt(player_id=f"new-{next(numbers)}")]

    sent = attempts()
    seen = victim.moments("submit", SUBMIT, mode=world.mode.pk, attempts=sent)
    world.submit(sent)
    moments, died = _chosen(seen, share=0.5), 0
    for moment in moments:
        with _told(moment):
            sent = attempts()
            died += victim.dies("submit", SUBMIT, moment, mode=world.mode.pk, attempts=sent)
            if world.chance.random() < 0.3:
                world.rest()
            world.submit(sent)
            world.rest()
            world.check()
    assert died > 0.5 * len(moments)


@pytest.mark.parametrize(
    ("act", "shards", "share"),
    [
        (Act("drain", DRAIN), 1, 0.25),
        (Act("drain", DRAIN, Summed.lose_everything), 1, 0.1),
        (Act("drain", DRAIN, Summed.misplace), 2, 0.06),
        (Act("rebuild", REBUILD), 2, 0.1),
        (Act("reshard", RESHARD), 2, 0.04),
    ],
    ids=["draining", "making lost boards again", "moving rows", "rebuilding", "resharding"],
)
def test_whoever_stands_still_at_any_line_while_others_act_does_no_harm(
    victim: Mortal, act: Act, shards: int, share: float
) -> None:
    """Nobody sweeps here: whatever comes in meanwhile, somebody who looks has been told."""
    world = Summed(shards=shards, seed=SEED)
    stood, moments = 0, _chosen(act.seen(victim, world), share=share)

    def meanwhile(*, others_drain: bool) -> None:
        world.submit([world.attempt(player) for player in world.players])  # those who are being told among them
        if others_drain:
            world.take_the_ring()
            world.drain()
        elif world.chance.random() < 0.5:
            world.retell(world.chance.choice(world.players))

    for moment, others_drain in product(moments, (True, False)):
        with _told(moment):
            _pend(world)
            act.lose(world)
            if act.name == "drain":
                world.take_the_ring()  # the act is its answer
            others_act = partial(meanwhile, others_drain=others_drain)
            stood += victim.stands(act.name, act.files, moment, others_act, mode=world.mode.pk)
            world.answer_the_rings()
            world.check()
    assert stood >= len(moments)  # not each mix comes back to a line as often
