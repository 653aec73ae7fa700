"""Attempts taken back in bulk, and given back: in steps, each a transaction, so that it may stop anywhere."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from time import monotonic

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet

from anticheat import selections
from anticheat.models import Rollback, Withdrawal
from anticheat.services.attempt_states import Logged, attempts_cover, attempts_lock, attempts_uncover
from config.celery import app as celery
from config.moments import moments_check
from leaderboards import partitions
from leaderboards.models import Mode, Outbox

log = structlog.get_logger(__name__)
_STEP = 2000  # attempts
_AHEAD = 20  # of the boards: rows of a stream that are pending, all of which are told anew at once
_TURN = 20.0  # seconds, then others have theirs
_UNFINISHED = (Rollback.State.WAITING, Rollback.State.RUNNING, Rollback.State.UNDOING)


def rollback_begin(*, rollback: Rollback, now: datetime, held: bool = False) -> Rollback:
    """Part of the caller's transaction; a worker does it, unless it is held. What arrives later is not its concern."""
    moments_check(until=rollback.until)
    rollback.until = min(rollback.until, now)
    selections.selection_check(rollback)
    rollback.state = Rollback.State.HELD if held else Rollback.State.WAITING
    rollback.save()
    if not held:
        _ring()
    return rollback


def rollback_undo(*, rollback: Rollback) -> None:
    """Part of the caller's transaction. One that is not done yet goes back from where it is."""
    locked = Rollback.objects.select_for_update().get(pk=rollback.pk)
    if locked.state != Rollback.State.UNDONE:
        locked.state, locked.ended_at = Rollback.State.UNDOING, None
        locked.save(update_fields=["state", "ended_at"])
        _ring()


def rollbacks_run(*, now: datetime) -> int:
    """What is begun, done; how many steps that took."""
    ends, steps = monotonic() + _TURN, 0
    for pk in Rollback.objects.filter(state__in=_UNFINISHED).order_by("pk").values_list("pk", flat=True):
        try:
            while monotonic() < ends and rollback_step(pk=pk, now=now):
                steps += 1
        except Exception:  # whatever is wrong with one, the others are not to wait for it
            log.exception("rollback_failed", rollback=pk, consequence="it is tried again")
    if monotonic() >= ends:
        _ring()
    return steps


def rollback_step(*, pk: int, now: datetime) -> bool:
    """Whether there is more to do, for us and now."""
    with transaction.atomic(durable=True):
        one = Rollback.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk).first()
        if one is None or one.state not in _UNFINISHED or _is_ahead(one):
            return False
        more = _back(one) if one.state == Rollback.State.UNDOING else _forth(one)
        if not more:
            one.state = Rollback.State.UNDONE if one.state == Rollback.State.UNDOING else Rollback.State.DONE
            one.ended_at = now
            log.info("rollback_ended", rollback=pk, state=one.state, attempts=one.done)
        one.save()
    return more


def _is_ahead(one: Rollback) -> bool:
    """Of boards that have not followed yet: beat looks again."""
    modes = [one.mode_id] if one.mode_id else Mode.objects.filter(game=one.game_id)
    pending = Outbox.objects.filter(mode__in=modes, kind=Outbox.Kind.RETOLD)
    return pending.values("mode", "shard").annotate(rows=Count("pk")).filter(rows__gt=_AHEAD).exists()


def _forth(one: Rollback) -> bool:
    """The next of its attempts, in the order of days and ids."""
    one.state = Rollback.State.RUNNING
    day = _day(one)
    if day is None:
        return False
    if one.cursor_id == 0:
        selections.cover(one, day)  # first: it waits for writers, who must not wait for anything of ours
    if one.cursor_day is None:
        one.total = selections.extent(one).attempts  # which may take a while: whoever asked for it does not wait
    rows = list(_of_day(one, day).filter(attempt__gt=one.cursor_id).order_by("attempt")[:_STEP])
    for mode, attempts in _by_mode(rows):
        attempts_lock(mode=mode, attempts=attempts)
        attempts_cover(mode=mode, attempts=attempts)
    one.done += len(rows)
    one.total = max(one.total, one.done)
    one.cursor_day, one.cursor_id = (day, rows[-1].attempt) if len(rows) == _STEP else (day + timedelta(days=1), 0)
    return True


def _day(one: Rollback) -> date | None:
    """The next of the log that it reaches into."""
    days = partitions.days_between(one.since, one.until)
    return next((day for day in days if one.cursor_day is None or day >= one.cursor_day), None)


def _of_day(one: Rollback, day: date) -> QuerySet[Withdrawal]:
    begins, ends = partitions.span_of(day)
    return Withdrawal.objects.filter(rollback=one, received_at__gte=begins, received_at__lt=ends)


def _back(one: Rollback) -> bool:
    rows = list(Withdrawal.objects.filter(rollback=one).order_by("attempt")[:_STEP])
    for mode, attempts in _by_mode(rows):
        attempts_lock(mode=mode, attempts=attempts)  # whoever undoes another rollback of the same waits, and sees this
        Withdrawal.objects.filter(rollback=one, attempt__in=[attempt.id for attempt in attempts]).delete()
        attempts_uncover(mode=mode, attempts=attempts)
    one.done = max(0, one.done - len(rows))
    return bool(rows)


def _by_mode(rows: Iterable[Withdrawal]) -> Iterable[tuple[Mode, list[Logged]]]:
    ordered = sorted(rows, key=attrgetter("mode_id", "attempt"))
    modes = Mode.objects.in_bulk({row.mode_id for row in ordered})
    for mode, some in groupby(ordered, key=attrgetter("mode_id")):
        yield modes[mode], [Logged(row.player_id, row.attempt, row.received_at) for row in some]


def _ring() -> None:
    """A worker looks now; beat does anyway."""
    transaction.on_commit(_send, robust=True)


def _send() -> None:
    celery.send_task("anticheat.tasks.rollbacks")
