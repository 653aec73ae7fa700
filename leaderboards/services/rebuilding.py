"""All boards of a mode again from PostgreSQL, as the next generation, while scores keep arriving and readers read."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import structlog
from django.db import DatabaseError, connection, transaction

from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.rebuild import Progress, generation_fill, silent
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.errors import BoardsUnavailable
from leaderboards.keys import Lock
from leaderboards.models import Mode, Stream
from leaderboards.send import slot_send
from leaderboards.services.resharding import mode_reshard

log = structlog.get_logger(__name__)
_TRIES = 5
_NEAR = 3  # numbers behind: little enough to send with the streams held


class RebuildUnderWay(BoardsUnavailable):
    """Another makes the same boards."""


def mode_rebuild(*, mode: Mode, now: datetime, shards: int | None = None, progress: Progress = silent) -> int:
    """The generation that the mode shows from now on. The one before stays for readers on their way: `mode_tidy`.

    `shards`: over how many from now on, where that is another number. Dense ranks do not add up over several.
    """
    with _alone(mode):
        for _ in range(_TRIES):
            mode.refresh_from_db()
            wanted = 1 if mode.ranking == "dense" else shards or mode.shards
            try:
                if wanted != mode.shards:
                    mode_reshard(mode=mode, shards=wanted, now=now, progress=progress)
                else:
                    _next_generation(mode, now, progress)
            except NotBuilt:
                log.warning("rebuild_starts_over", mode=mode.pk, why="boards or batches were lost")
                continue
            mode.refresh_from_db(fields=["generation", "shards"])
            outbox.ring((mode.pk, shard) for shard in range(mode.shards))  # who found a stream held went away
            return mode.generation
    raise BoardsUnavailable(f"The boards of {mode} were lost {_TRIES} times while they were made.", retry_after=60)


def mode_tidy(*, mode: Mode, shards: int | None = None) -> None:
    """Removes the generation before the mode's own, which may have had another number of shards."""
    for shard in range(shards or mode.shards):
        store.clear(Slot(mode.pk, shard, mode.generation - 1))


def _next_generation(mode: Mode, now: datetime, progress: Progress) -> None:
    generation = mode.generation + 1
    generation_fill(mode=mode, generation=generation, now=now, progress=progress)
    _catch_up(mode, generation)
    _switch(mode, generation)


def _catch_up(mode: Mode, generation: int) -> None:
    """Sends what was stamped since the snapshot, until little is left."""
    behind = True
    while behind:
        behind = False
        for shard, seq in _numbers(mode):
            slot = Slot(mode.pk, shard, generation)
            behind |= seq - (store.mark(slot) or 0) > _NEAR
            slot_send(mode=mode, slot=slot, upto=seq)


def _switch(mode: Mode, generation: int) -> None:
    """With the streams held nothing is stamped, so the last number sent is the last there is."""
    with transaction.atomic(durable=True):
        for stream in Stream.objects.select_for_update().filter(mode=mode).order_by("shard"):
            slot_send(mode=mode, slot=Slot(mode.pk, stream.shard, generation), upto=stream.seq)
        Mode.objects.filter(pk=mode.pk).update(generation=generation)


def _numbers(mode: Mode) -> list[tuple[int, int]]:
    return list(Stream.objects.filter(mode=mode).order_by("shard").values_list("shard", "seq"))


@contextmanager
def _alone(mode: Mode) -> Iterator[None]:
    """Held by a transaction on a connection of its own: a session's lock would stay behind on a pooled one."""
    own = connection.copy()
    try:
        own.set_autocommit(False)
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [Lock.REBUILD, mode.pk])
            if not cursor.fetchone()[0]:
                raise RebuildUnderWay(f"The boards of {mode} are being made already.", retry_after=60)
        yield
    finally:
        with suppress(DatabaseError):
            own.rollback()  # answered when the lock is gone; a connection that is closed may hold it a moment longer
        own.close()
