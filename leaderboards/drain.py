"""One stream, emptied: stamp what is pending, send what is stamped, look once more."""

from datetime import datetime, timedelta
from time import monotonic, sleep

import structlog
from django.db import OperationalError

from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.rebuild import shard_rebuild
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.models import Mode, Outbox, Stream
from leaderboards.send import stream_send
from leaderboards.stamp import Busy, stream_stamp

log = structlog.get_logger(__name__)
STREAMS_A_TRIP = 100
_BREATH = 0.04  # seconds from one look to the next: a larger batch costs hardly more, and leaves others the machine
_SERIALIZATION = "40001"


def stream_drain(*, mode_id: int, shard: int, now: datetime) -> None:
    began = monotonic()
    while True:
        mode = Mode.objects.get(pk=mode_id)  # each time: its rules or its boards' generation may have changed
        looked = monotonic()
        at = now + timedelta(seconds=looked - began)  # a ban made since we began holds
        outbox.answer(mode_id, shard)
        shard %= mode.shards  # rung for by who knew more of them: whoever stamps moves what is theirs
        try:
            seq = stream_stamp(mode=mode, shard=shard, now=at)
        except Busy:
            return  # its consumer looks once more when it is done
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != _SERIALIZATION:
                raise
            continue  # another consumer has just stamped
        # a rebuild switches with the stream held: read after stamping, this is where the batch belongs
        shards = mode.shards
        mode.refresh_from_db(fields=["generation", "shards"])
        if mode.shards != shards:
            continue  # the switch has sent it, to where its players are now
        try:
            _sent(mode, shard, seq)
        except NotBuilt:
            log.warning("boards_made_again", mode=mode_id, shard=shard)
            if shard_rebuild(mode=mode, shard=shard, now=at) is None:
                return
        if not Outbox.objects.filter(mode_id=mode_id, shard=shard).exists():
            return
        sleep(max(0.0, looked + _BREATH - monotonic()))


def _sent(mode: Mode, shard: int, seq: int) -> None:
    """Rung with nothing to send: perhaps by a reader that met a board which is not whole."""
    slot = Slot(mode.pk, shard, mode.generation)
    if store.mark(slot) == seq:
        store.check(slot)
    stream_send(mode=mode, shard=shard, upto=seq)


def streams_sweep(*, now: datetime) -> int:
    """Drains every stream that has something pending, or whose boards are behind or gone; how many."""
    waiting = _pending()
    stamped = list(Stream.objects.filter(seq__gt=0).values_list("mode_id", "shard", "seq", "mode__generation"))
    for first in range(0, len(stamped), STREAMS_A_TRIP):
        some = stamped[first : first + STREAMS_A_TRIP]
        marks = store.sound([Slot(mode_id, shard, generation) for mode_id, shard, _, generation in some])
        # a mark beyond is another history's
        waiting |= {(mode_id, shard) for (mode_id, shard, seq, _), mark in zip(some, marks, strict=True) if mark != seq}
    for mode_id, shard in sorted(waiting):
        try:
            stream_drain(mode_id=mode_id, shard=shard, now=now)
        except Exception:  # one stream that fails, for whatever reason, must not stop the others
            log.exception("stream_not_drained", mode=mode_id, shard=shard)
    return len(waiting)


def _pending() -> set[outbox.Stream]:
    """Streams with something to stamp. Rows of another number of shards may be anybody's: the first moves them."""
    found: set[outbox.Stream] = set()
    rows = Outbox.objects.order_by().values_list("mode_id", "shard", "shards", "mode__shards").distinct()
    for mode_id, shard, split, shards in rows:
        found |= {(mode_id, own) for own in ([shard] if split == shards else range(shards))}
    return found
