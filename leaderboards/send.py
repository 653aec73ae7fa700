"""From stamps to boards: one function call a number, from the mark on."""

from collections.abc import Iterator

import structlog

from leaderboards import effects
from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot
from leaderboards.effects import BoardChange
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Stamp, Stream
from leaderboards.rules.instants import micros
from leaderboards.rules.placing import dense_width, placing
from leaderboards.rules.windows import timezone_named, window_by_id

log = structlog.get_logger(__name__)


def stream_send(*, mode: Mode, shard: int, upto: int) -> None:
    """Until the boards show number `upto`."""
    slot_send(mode=mode, slot=Slot(mode.pk, shard, mode.generation), upto=upto)


def slot_send(*, mode: Mode, slot: Slot, upto: int) -> None:
    """The same for a generation that may not be the mode's own yet. `NotBuilt`: the stamps do not reach."""
    mark = store.mark(slot)
    if mark is None or (mark > upto and mark > _stamped(slot)):
        raise store.NotBuilt  # a mark that PostgreSQL does not know is another history's
    while mark < upto:
        try:
            mark = _send_after(mode, slot, mark)
        except store.Gap as gap:
            mark = gap.mark


def _stamped(slot: Slot) -> int:
    return Stream.objects.filter(mode_id=slot.mode, shard=slot.shard).values_list("seq", flat=True).first() or 0


def _send_after(mode: Mode, slot: Slot, mark: int) -> int:
    for seq, changes, at in stamped_after(mode=mode, shard=slot.shard, mark=mark):
        mark = store.apply(slot, seq, changes, at=at, width=dense_width(mode.rules))
    return mark


def stamped_after(*, mode: Mode, shard: int, mark: int) -> Iterator[tuple[int, list[Change], int]]:
    """Some hundred batches after a number, without a gap: number, what it changes, when it was made."""
    stamps = Stamp.objects.filter(mode=mode, shard=shard, seq__gt=mark).order_by("seq")
    found = list(stamps.values_list("seq", "effect", "created_at")[:100])
    if not found:
        raise store.NotBuilt  # all that was to be sent is gone
    for seq, effect, made in found:
        mark += 1
        if seq != mark:
            raise store.NotBuilt  # the boards are older than the oldest batch kept
        try:
            changes = [_placed(mode, change) for change in effects.decode(bytes(effect)).boards]
        except ValueError as error:  # msgspec's are
            log.exception("stamp_unreadable", mode=mode.pk, shard=shard, seq=seq)
            raise store.NotBuilt from error  # the standings have what it did
        yield seq, changes, micros(made)


def _placed(mode: Mode, change: BoardChange) -> Change:
    """Encoded with the rules as they are now: a stamp holds raw scores."""
    window = window_by_id(change.window, timezone_named(mode.timezone))
    encoding = placing(mode.rules, window, epoch=mode.epoch)
    expires = expires_at(window)
    put = list(zip(encoding.places(change.scores, change.ats), change.players, strict=True))
    return Change(change.window, change.scope, int(expires.timestamp()) if expires else 0, put, change.drop)
