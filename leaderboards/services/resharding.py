"""The next generation of a mode's boards over another number of shards, while scores keep arriving and readers read.

The slots are filled from one snapshot; what was stamped since is put into them as well, each player's to its new shard.
In the end the streams are held, and replaced: docs/adr/0017.
"""

from copy import copy
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Max

from leaderboards.boards import store
from leaderboards.boards.rebuild import Progress, slot_fill
from leaderboards.boards.store import Change, Slot
from leaderboards.models import Mode, Stamp, Stream
from leaderboards.outbox import shard_of
from leaderboards.rules.instants import micros
from leaderboards.rules.placing import dense_width
from leaderboards.send import stamped_after

_NEAR = 3  # numbers behind: little enough to put with the streams held


def mode_reshard(*, mode: Mode, shards: int, now: datetime, progress: Progress) -> None:
    """The caller has the mode for itself. `NotBuilt`: boards or batches were lost meanwhile."""
    moving = _Moving(mode, shards, now)
    moving.fill(progress)
    while moving.catch_up() > _NEAR:
        pass
    moving.switch()


class _Moving:
    def __init__(self, mode: Mode, shards: int, now: datetime) -> None:
        self.mode, self.now = mode, now
        self.after = copy(mode)  # the mode as it will be
        self.after.shards, self.after.generation = shards, mode.generation + 1
        self.tokens: dict[Slot, str] = {}
        self.done: dict[int, int] = {}  # the last number of each old stream that the new slots show

    def fill(self, progress: Progress) -> None:
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self.done = _numbers(self.mode)
            for shard in range(self.after.shards):
                slot = Slot(self.mode.pk, shard, self.after.generation)
                self.tokens[slot] = slot_fill(mode=self.after, slot=slot, now=self.now, progress=progress)

    def catch_up(self) -> int:
        """How many numbers it was behind."""
        stamped = _numbers(self.mode)
        behind = sum(stamped.values()) - sum(self.done.values())
        for shard, seq in stamped.items():
            while self.done[shard] < seq:
                for number, changes in stamped_after(mode=self.mode, shard=shard, mark=self.done[shard]):
                    self._put(changes)
                    self.done[shard] = number
        return behind

    def _put(self, changes: list[Change]) -> None:
        """What a batch did to the old boards, in its own order: a player was in one old shard, and is in one new."""
        for slot, token in self.tokens.items():
            own = [part for change in changes if (part := _part(change, slot.shard, self.after.shards))]
            if own:
                store.fill(slot, token, own, width=dense_width(self.mode.rules))

    def switch(self) -> None:
        """With the streams held nothing is stamped; scores are taken, and wait for the new streams."""
        with transaction.atomic(durable=True):
            held = list(Stream.objects.select_for_update().filter(mode=self.mode))
            self.catch_up()
            numbers = self._first_numbers(sum(stream.seq for stream in held))
            for slot, token in self.tokens.items():
                store.built(slot, token, numbers[slot.shard], at=micros(self.now))
            Stream.objects.filter(mode=self.mode).delete()
            Stream.objects.bulk_create(Stream(mode=self.mode, shard=shard, seq=seq) for shard, seq in numbers.items())
            Mode.objects.filter(pk=self.mode.pk).update(shards=self.after.shards, generation=self.after.generation)

    def _first_numbers(self, before: int) -> dict[int, int]:
        """Together more than before, so that `version` grows; each beyond all batches that are kept under its shard.

        And no more than that: numbers that grew with every move by a factor would pass 2^53 after some dozens.
        """
        kept = dict(Stamp.objects.filter(mode=self.mode).order_by().values_list("shard").annotate(last=Max("seq")))
        shards = range(self.after.shards)
        numbers = {shard: max(kept.get(shard, 0), self.done.get(shard, 0)) + 1 for shard in shards}
        numbers[0] += max(0, before + 1 - sum(numbers.values()))
        return numbers


def _numbers(mode: Mode) -> dict[int, int]:
    return dict(Stream.objects.filter(mode=mode).order_by("shard").values_list("shard", "seq"))


def _part(change: Change, shard: int, shards: int) -> Change | None:
    put = [one for one in change.put if shard_of(one[1], shards) == shard]
    drop = [player for player in change.drop if shard_of(player, shards) == shard]
    return Change(change.window, change.scope, change.expires, put, drop) if put or drop else None
