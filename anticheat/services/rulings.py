"""What people decide: an act, its reason, who and when; and undoing it. One transaction each.

Some acts wait for a second person, where settings.TWO_PERSONS names them.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Max
from psycopg.errors import DeadlockDetected

from anticheat import audit
from anticheat.errors import RulingRefused
from anticheat.models import Ruling
from anticheat.services import ruling_acts
from anticheat.services.locks import case_lock, player_lock
from anticheat.services.rollbacks import rollback_begin, rollback_undo
from anticheat.services.ruling_acts import BANS
from config.audit import Who
from config.errors import InvalidRequest
from config.moments import moments_check
from leaderboards.rules.instants import MICROSECOND

log = structlog.get_logger(__name__)
Kind = Ruling.Kind
State = Ruling.State
T = TypeVar("T")
_TRIES = 4


def again_after_deadlock(act: Callable[[], T]) -> T:
    """All lock in one order (services/locks.py), but erasures, checks that look twice and PostgreSQL's own locks may
    still meet in another: one of them tries again.
    """
    for tried in range(1, _TRIES):
        try:
            with transaction.atomic():
                return act()
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected) or connection.in_atomic_block:
                raise
            log.warning("ruling_deadlocked", tried=tried)
    with transaction.atomic():
        return act()


def ruling_make(*, ruling: Ruling, by: Who, now: datetime, attempts: Collection[UUID] = ()) -> Ruling:
    """Done at once, or proposed. `attempts`: those it is about, where it is not about all of its case."""
    _check(ruling, attempts, now)
    ruling.by_id, ruling.by_key_id = by.user, by.key
    held = ruling.kind in settings.TWO_PERSONS

    def make() -> Ruling:
        player_lock(ruling.player_id)
        ruling.at = _following(ruling, now)
        if ruling.rollback is not None:
            ruling.rollback = rollback_begin(rollback=ruling.rollback, now=now, held=held)
        ruling.before = {"asked": [str(one) for one in attempts]}
        ruling.state = State.PROPOSED if held else State.DONE
        if not held:
            ruling_acts.act(ruling, asked=attempts, now=now)
        ruling.save()
        _audit("propose" if held else "make", ruling, by, ruling.reason)
        return ruling

    return again_after_deadlock(make)


def ruling_approve(*, ruling: Ruling, by: Who, now: datetime) -> Ruling:
    def approve() -> Ruling:
        found = _locked(ruling, State.PROPOSED)
        if by.user is None or by.user == found.by_id:
            raise RulingRefused("A second person has to approve it.")
        if found.ends_at is not None and found.ends_at <= now:
            raise RulingRefused("It would have ended by now.")
        found.approved_by_id, found.state, found.at = by.user, State.DONE, _following(found, now)
        ruling_acts.act(found, asked={UUID(one) for one in found.before["asked"]}, now=now)
        found.save()
        _audit("approve", found, by, found.reason)
        return found

    return again_after_deadlock(approve)


def ruling_withdraw(*, ruling: Ruling, by: Who, now: datetime, why: str) -> Ruling:
    """One that was proposed, and is not to be done."""
    with transaction.atomic():
        found = _locked(ruling, State.PROPOSED)
        if found.rollback is not None:
            rollback_undo(rollback=found.rollback)
        return _ended(found, State.WITHDRAWN, by, now, why)


def ruling_undo(*, ruling: Ruling, by: Who, now: datetime, why: str) -> Ruling:
    """As if it had not been made."""

    def undo() -> Ruling:
        found = _locked(ruling, State.DONE)
        ruling_acts.undo(found, now=now)
        return _ended(found, State.UNDONE, by, now, why)

    return again_after_deadlock(undo)


def _locked(ruling: Ruling, state: str) -> Ruling:
    """With its player and case, which are locked first."""
    player_lock(ruling.player_id)
    if ruling.case is not None:
        case_lock(ruling.case)
    found = (
        Ruling.objects.select_for_update(of=("self",))
        .select_related("mode", "case", "ban", "rollback")
        .get(pk=ruling.pk)
    )
    if found.state != state:
        raise RulingRefused(f"It is {found.get_state_display()} by now.")
    return found


def _following(ruling: Ruling, now: datetime) -> datetime:
    """Later than all other rulings about the player, which is locked: they took effect in this order, and undoing goes
    by it. Whoever waited for the lock may have read the clock before.
    """
    last = Ruling.objects.filter(player=ruling.player_id).exclude(pk=ruling.pk).aggregate(last=Max("at"))["last"]
    return max(now, last + MICROSECOND) if last is not None and ruling.player_id is not None else now


def _ended(ruling: Ruling, state: State, by: Who, now: datetime, why: str) -> Ruling:
    ruling.state, ruling.undone_by_id, ruling.undone_by_key_id = state, by.user, by.key
    ruling.undone_at, ruling.undone_why = now, why
    ruling.save()
    _audit("undo" if state == State.UNDONE else "withdraw", ruling, by, why)
    return ruling


def _audit(verb: str, ruling: Ruling, by: Who, why: str) -> None:
    """Last in the transaction. What the rollback is about is kept with it."""
    done: dict[str, object] = {"kind": ruling.kind, "state": ruling.state, "ends_at": ruling.ends_at}
    done |= {"case": ruling.case_id, "rollback": ruling.rollback_id}
    done["attempts"] = len(ruling.before.get("attempts", ()))
    audit.record(verb=f"ruling.{verb}", who=by, about=ruling, after=done, why=why)


def _check(ruling: Ruling, attempts: Collection[UUID], now: datetime) -> None:
    kind = ruling.kind
    if not ruling.reason.strip():
        raise InvalidRequest("A ruling needs a reason.", errors={"reason": ["is missing"]})
    moments_check(ends_at=ruling.ends_at)
    if ruling.ends_at is not None and (ruling.ends_at <= now or kind not in BANS):
        raise InvalidRequest("ends_at: a later time, of a ban.", errors={"ends_at": ["not a later time, of a ban"]})
    if kind == Kind.SUSPEND and ruling.ends_at is None:
        raise InvalidRequest("A suspension needs an end; one without is a ban.", errors={"ends_at": ["is missing"]})
    if (kind == Kind.ROLLBACK) != (ruling.rollback is not None):
        raise InvalidRequest("A rollback, and nothing else, says which attempts in bulk.")
    if kind != Kind.ROLLBACK and ruling.player_id is None:
        raise InvalidRequest("A ruling names a player.", errors={"player_id": ["is missing"]})
    if kind in (Kind.CLEAR, Kind.WATCH, Kind.CONFIRM) and ruling.case_id is None:
        raise InvalidRequest("This is ruled of a case.")
    if kind in (Kind.RELEASE, Kind.REJECT) and (ruling.mode_id is None or not (attempts or ruling.case_id)):
        raise InvalidRequest("A ruling about attempts names their mode and which they are.")
