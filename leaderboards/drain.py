"""One stream, emptied: stamp what is pending, send what is stamped, look once more."""

from datetime import datetime

import structlog
from django.db import OperationalError

from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.rebuild import shard_rebuild
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.models import Mode, Outbox, Stream
from leaderboards.send import dense_width, stream_send
from leaderboards.stamp import Busy, stream_stamp

log = structlog.get_logger(__name__)
_SERIALIZATION = "40001"


def stream_drain(*, mode_id: int, shard: int, now: datetime) -> None:
    mode = Mode.objects.get(pk=mode_id)
    while True:
        outbox.answer(mode_id, shard)
        try:
            seq = stream_stamp(mode=mode, shard=shard, now=now)
        except Busy:
            return  # its consumer looks once more when it is done
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != _SERIALIZATION:
                raise
            continue  # another consumer has just stamped
        try:
            stream_send(mode=mode, shard=shard, upto=seq)
        except NotBuilt:
            log.warning("boards_lost", mode=mode_id, shard=shard)
            if shard_rebuild(mode=mode, shard=shard, width=dense_width(mode), now=now) is None:
                return
        if not Outbox.objects.filter(mode_id=mode_id, shard=shard).exists():
            return


def streams_sweep(*, now: datetime) -> int:
    """Drains every stream that has something pending, or whose boards are behind or gone; how many."""
    waiting = set(Outbox.objects.order_by().values_list("mode_id", "shard").distinct())
    stamped = Stream.objects.filter(seq__gt=0).values_list("mode_id", "shard", "seq", "mode__generation")
    for mode_id, shard, seq, generation in stamped:
        mark = store.mark(Slot(mode_id, shard, generation))
        if mark is None or mark < seq:
            waiting.add((mode_id, shard))
    for mode_id, shard in sorted(waiting):
        stream_drain(mode_id=mode_id, shard=shard, now=now)
    return len(waiting)
