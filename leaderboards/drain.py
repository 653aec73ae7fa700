"""One stream, emptied: stamp what is pending, send what is stamped, look once more."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from time import monotonic, sleep

import structlog
from django.db import OperationalError, connections

from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.rebuild import shard_rebuild
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.models import Mode, Outbox, Stream
from leaderboards.send import boards_remade, stream_send
from leaderboards.stamp import Busy, Last, stream_stamp

log = structlog.get_logger(__name__)
STREAMS_A_TRIP = 100
# seconds from one look to the next; the longer where a look takes long: of a larger batch each score costs less, and
# others have the machine meanwhile
_BREATH, _DEEP_BREATH = 0.04, 0.1
_WHOLE_EVERY = 1.0  # seconds: a batch touches some of the boards, and any of them may be lost
_TURN = 1.0  # seconds, then other streams have theirs: where they outnumber the workers, each waits that long
_SERIALIZATION = "40001"


def stream_drain(*, mode_id: int, shard: int, now: datetime) -> None:
    """The bell is kept until there is nothing left, so that who commits meanwhile need not ring; then there is one more
    look, for whoever met a bell that was rung.
    """
    sending = _Sending()
    try:
        _drained(mode_id, shard, now, sending)
    finally:
        try:
            sending.close()
        except NotBuilt:  # by the last, and there is more to send: whoever answers makes them again
            outbox.ring([(mode_id, shard)])


def _drained(mode_id: int, shard: int, now: datetime, sending: "_Sending") -> None:
    began = whole_at = monotonic()
    kept = True
    while True:
        looked = monotonic()
        whole = looked - whole_at > _WHOLE_EVERY
        whole_at = looked if whole else whole_at
        try:  # a ban made since we began holds
            more = _looked(mode_id, shard, now + timedelta(seconds=looked - began), sending, whole=whole)
        except BaseException:
            outbox.answer(mode_id, shard)
            raise
        if more and looked - began > _TURN:
            outbox.answer(mode_id, shard)
            outbox.ring([(mode_id, shard)])
            return
        if more:
            outbox.keep(mode_id, shard)  # another may have given it back, or it is too old
            kept, took = True, monotonic() - looked
            sleep(max(0.0, max(_BREATH, min(2 * took, _DEEP_BREATH)) - took))
        elif kept:
            outbox.answer(mode_id, shard)
            kept = False
        else:
            return


class _Sending:
    """While there is more to stamp, what was stamped before it is sent: both mostly wait, for two different servers."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="send")
        self._under_way: tuple[Future[None], Mode, int] | None = None

    def begin(self, mode: Mode, shard: int, send: Callable[[], None]) -> None:
        self._under_way = self._thread.submit(_with_connections_closed, send), mode, shard

    def is_done(self, now: datetime) -> bool:
        """Waits for what is under way. `mode` as it was then: boards that were replaced meanwhile are no concern."""
        under_way, self._under_way = self._under_way, None
        return under_way is None or _is_shown(under_way[0].result, *under_way[1:], now)

    def close(self) -> None:
        """Raises what the last one raised."""
        self._thread.shutdown()
        if self._under_way is not None:
            self._under_way[0].result()


def _is_shown(send: Callable[[], None], mode: Mode, shard: int, now: datetime) -> bool:
    """Sent, or with boards made again that were not there. False: another has the stream, and sees to them."""
    try:
        send()
    except NotBuilt:
        log.warning("boards_made_again", mode=mode.pk, shard=shard)
        if shard_rebuild(mode=mode, shard=shard, now=now) is None:
            return False
        boards_remade(mode=mode, shard=shard)
    return True


def _with_connections_closed(send: Callable[[], None]) -> None:
    try:
        send()
    finally:
        connections.close_all()  # this thread's own


def _looked(mode_id: int, shard: int, now: datetime, sending: _Sending, *, whole: bool) -> bool:
    """Whether more has come meanwhile. Where another has the stream, that one looks once more when it is done.

    `whole`: at all boards, not only those that change.
    """
    while True:
        mode = Mode.objects.get(pk=mode_id)  # each time: its rules or its boards' generation may have changed
        shard %= mode.shards  # rung for by who knew more of them: whoever stamps moves what is theirs
        try:
            stamped = stream_stamp(mode=mode, shard=shard, now=now)
        except Busy:
            return False
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != _SERIALIZATION:
                raise
            continue  # another consumer has just stamped
        # a rebuild switches with the stream held: read after stamping, this is where the batch belongs
        shards = mode.shards
        mode.refresh_from_db(fields=["generation", "shards"])
        if mode.shards == shards:
            break  # else the switch has sent it, to where its players are now
    if not sending.is_done(now):
        return False
    pending = Outbox.objects.filter(mode_id=mode_id, shard=shard)
    send = partial(_send, mode, shard, stamped, whole=whole)
    if pending.exists():
        sending.begin(mode, shard, send)
        return True
    return _is_shown(send, mode, shard, now) and pending.exists()


def _send(mode: Mode, shard: int, stamped: Last, *, whole: bool) -> None:
    """Rung with nothing to send: perhaps by a reader that met a board which is not whole."""
    slot = Slot(mode.pk, shard, mode.generation)
    if whole or (not stamped.fresh and store.mark(slot) == stamped.seq):
        store.check(slot)
    stream_send(mode=mode, shard=shard, upto=stamped.seq, fresh=stamped.fresh)


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
