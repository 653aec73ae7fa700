"""Who looks at which case: taken from the queue, held for a while, put off, and noted on. One transaction each."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from anticheat import audit
from anticheat.errors import RulingRefused
from anticheat.models import Case
from anticheat.queue import cases_free, holder, is_own
from anticheat.services.locks import case_lock
from config.audit import Who

HELD = timedelta(minutes=15)


def case_next(*, user: User, now: datetime, after: Case | None = None) -> Case | None:
    """The next that waits, from now on held by this operator. `after`: the one that is let go."""
    with transaction.atomic():
        if after is not None:
            Case.objects.filter(pk=after.pk, held_by=user).update(held_by=None, held_until=None)
        waiting = cases_free(user, now=now)
        found = None
        if after is not None:
            behind = Q(priority__lt=after.priority) | Q(priority=after.priority, pk__gt=after.pk)
            found = _first(waiting.filter(behind))
        found = found or _first(waiting)
        return None if found is None else _hold(found, user, now)


def case_hold(*, case: Case, user: User, now: datetime) -> Case:
    with transaction.atomic():
        return _hold(case_claim(case=case, user=user, now=now), user, now)


def case_claim(*, case: Case, user: User, now: datetime) -> Case:
    """Locked, for who may rule on it now. Part of the caller's transaction."""
    if is_own(user, case.player_id):
        raise RulingRefused("It is about a player of your own: somebody else judges it.")
    locked = case_lock(case)
    by = holder(locked, now=now)
    if by is not None and by != user:
        raise RulingRefused(f"{by.get_username()} is looking at it, until {locked.held_until:%H:%M} UTC.")
    return locked


def case_snooze(*, case: Case, user: User, until: datetime, now: datetime, who: Who) -> None:
    """Out of the queue until then; nobody holds it."""
    with transaction.atomic():
        locked = case_claim(case=case, user=user, now=now)
        locked.snoozed_until, locked.held_by, locked.held_until = until, None, None
        locked.save(update_fields=["snoozed_until", "held_by", "held_until"])
        audit.record(verb="case.snooze", who=who, about=locked, after={"snoozed_until": until})


def case_note(*, case: Case, user: User, note: str, now: datetime, who: Who) -> None:
    """What it says is in the case alone, and may name people: the audit does not."""
    with transaction.atomic():
        locked = case_claim(case=case, user=user, now=now)
        locked.note = note
        locked.save(update_fields=["note"])
        audit.record(verb="case.note", who=who, about=locked)


def _first(waiting: QuerySet[Case]) -> Case | None:
    """Two who ask at the same time get two."""
    return waiting.select_for_update(skip_locked=True, of=("self",)).first()


def _hold(case: Case, user: User, now: datetime) -> Case:
    case.held_by, case.held_until = user, now + HELD
    case.save(update_fields=["held_by", "held_until"])
    return case
