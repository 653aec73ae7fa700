"""Batches that could not be applied, tried again: never as they were, always told anew from the log.

Meanwhile a correction may have counted their scores; what is told anew is right however often it is told.
"""

import contextlib
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Power

from config.errors import DomainError
from leaderboards import outbox
from leaderboards.models import Outbox, SetAside
from leaderboards.outbox import decode_players, decode_scores

log = structlog.get_logger(__name__)
TRIES = 5  # the first among them; then a person decides
_WAIT = timedelta(seconds=5)  # twice as long with each try, so 10 seconds after the first
_PARTS = 10  # a batch comes back in parts, so that in the end only what is bad is left


class BatchUnreadable(DomainError):
    code, status, title = "batch_unreadable", 409, "Batch unreadable"


def batch_retry(*, batch: SetAside) -> None:
    with transaction.atomic():
        # itself alone: scores of new players refer to the game, and would wait for a lock on it
        own = SetAside.objects.select_for_update(skip_locked=True, of=("self",)).select_related("mode__game")
        found = own.filter(pk=batch.pk).first()
        if found is None:
            return  # somebody else's by now
        players = _players(found)
        kind = Outbox.Kind.PLACED if found.kind == Outbox.Kind.PLACED else Outbox.Kind.RETOLD
        each = -(-len(players) // _PARTS) or 1
        streams: set[outbox.Stream] = set()
        for first in range(0, len(players), each):
            part = players[first : first + each]
            streams |= set(outbox.add_correction(found.mode_id, found.mode.shards, kind, part, tries=found.tries))
        found.delete()
        transaction.on_commit(lambda: outbox.ring(sorted(streams)))


def retry_due_at(batch: SetAside) -> datetime | None:
    """When it is tried again by itself; None: a person decides."""
    return None if batch.tries >= TRIES else batch.set_aside_at + _WAIT * 2**batch.tries


def batches_retry_due(*, now: datetime) -> int:
    """Those whose time has come, each a few times and ever later; how many."""
    waits = Value(_WAIT) * Power(2, F("tries"))
    due = SetAside.objects.filter(tries__lt=TRIES, set_aside_at__lt=Value(now) - waits)
    retried = 0
    for batch in due.order_by("pk")[:100]:
        try:
            batch_retry(batch=batch)
            retried += 1
        except BatchUnreadable as error:
            SetAside.objects.filter(pk=batch.pk).update(tries=TRIES)
            log.error("batch_unreadable", batch=batch.pk, mode=batch.mode_id, detail=error.detail)  # noqa: TRY400
    return retried


def has_set_aside(*, mode: int, player: int) -> bool:
    """Whether something of the player is missing from the boards."""
    for batch in SetAside.objects.filter(mode_id=mode).select_related("mode"):
        with contextlib.suppress(BatchUnreadable):
            if player in _players(batch):
                return True
    return False


def _players(batch: SetAside) -> list[int]:
    payload = bytes(batch.payload)
    try:
        if batch.kind == Outbox.Kind.SCORES:
            return sorted({row.player for row in decode_scores(payload).rows})
        return sorted(set(decode_players(payload).players))
    except ValueError:  # msgspec's are
        raise BatchUnreadable(
            "What was set aside cannot be read."
            f" `rebuild_boards --game {batch.mode.game.slug} --mode {batch.mode.slug} --from-log` counts it again."
        ) from None
