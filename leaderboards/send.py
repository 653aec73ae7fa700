"""From stamps to boards: one function call a number, from the mark on."""

from datetime import UTC, datetime

from leaderboards import effects
from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot
from leaderboards.effects import BoardChange
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Stamp
from leaderboards.rules.placing import placing
from leaderboards.rules.windows import timezone_named, window_by_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stream_send(*, mode: Mode, shard: int, upto: int) -> None:
    """Until the boards show number `upto`."""
    slot = Slot(mode.pk, shard, mode.generation)
    mark = store.mark(slot)
    if mark is None:
        if not _from_the_first(mode, shard):
            raise store.NotBuilt
        store.built(slot, 0, at=0)
        mark = 0
    while mark < upto:
        try:
            mark = _send_after(mode, slot, mark)
        except store.Gap as gap:
            mark = gap.mark


def _from_the_first(mode: Mode, shard: int) -> bool:
    """Whether every batch there ever was can still be sent."""
    return Stamp.objects.filter(mode=mode, shard=shard, seq=1).exists()


def _send_after(mode: Mode, slot: Slot, mark: int) -> int:
    stamps = Stamp.objects.filter(mode=mode, shard=slot.shard, seq__gt=mark).order_by("seq")
    for seq, effect, made in stamps.values_list("seq", "effect", "created_at")[:100]:
        if seq != mark + 1:
            raise store.NotBuilt  # the boards are older than the oldest batch kept
        changes = [_placed(mode, change) for change in effects.decode(bytes(effect)).boards]
        at = int((made - _EPOCH).total_seconds() * 1_000_000)
        mark = store.apply(slot, seq, changes, at=at, width=dense_width(mode))
    return mark


def dense_width(mode: Mode) -> int:
    """How many places one key has, for boards that count distinct keys; 0 where they need not."""
    if mode.ranking != "dense":
        return 0
    window = window_by_id("alltime", timezone_named("UTC"))
    return 1 << placing(mode.rules, window, epoch=mode.created_at).bits


def _placed(mode: Mode, change: BoardChange) -> Change:
    """Encoded once, here."""
    window = window_by_id(change.window, timezone_named(mode.timezone))
    encoding = placing(mode.rules, window, epoch=mode.created_at)
    expires = expires_at(window)
    put = [(encoding.place_us(put.score, put.at), put.player) for put in change.put]
    return Change(change.window, change.scope, int(expires.timestamp()) if expires else 0, put, change.drop)
