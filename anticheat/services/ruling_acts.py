"""What each kind of ruling does, and how that is undone. Parts of the transaction in which it is ruled, which has
locked the player, and to undo also the case (services/locks.py).
"""

from collections.abc import Callable, Collection
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q

from anticheat.checks.replay import WAITS
from anticheat.models import Case, Finding, Rollback, Ruling
from anticheat.services.attempt_states import (
    Logged,
    attempts_judge,
    attempts_lock,
    attempts_look,
    attempts_tell,
    in_itself,
)
from anticheat.services.locks import case_lock
from anticheat.services.rollbacks import rollback_begin, rollback_undo
from leaderboards.log import State
from leaderboards.models import Mode
from players.models import Ban, Player

Kind = Ruling.Kind
BANS = {
    Kind.HIDE: Ban.Kind.HIDDEN,
    Kind.SHADOW: Ban.Kind.SHADOW,
    Kind.SUSPEND: Ban.Kind.SUSPENSION,
    Kind.BAN: Ban.Kind.BAN,
}
# which attempts it concerns, by what they are, and what they are then
_JUDGED: dict[str, tuple[set[State], State]] = {
    Kind.RELEASE: ({State.QUARANTINED, State.REJECTED}, State.ACCEPTED),
    Kind.REJECT: ({State.ACCEPTED, State.QUARANTINED, State.TAKEN_BACK}, State.REJECTED),
    Kind.CONFIRM: ({State.ACCEPTED, State.QUARANTINED, State.TAKEN_BACK}, State.REJECTED),
}
_CASE: dict[str, Case.State] = {
    Kind.RELEASE: Case.State.CLEARED,
    Kind.CLEAR: Case.State.CLEARED,
    Kind.WATCH: Case.State.WATCHING,
    Kind.CONFIRM: Case.State.CONFIRMED,
    **dict.fromkeys(BANS, Case.State.CONFIRMED),
}


def act(ruling: Ruling, *, asked: Collection[UUID], now: datetime) -> None:
    """`asked`: the attempts it is about; none where it is about all that its case has findings of."""
    case = ruling.case and case_lock(ruling.case)
    ruling.before = {"case": case.state if case else None, "attempts": []}
    if ruling.kind in _JUDGED and ruling.mode is not None:
        ruling.before["attempts"] = _judge(ruling, ruling.mode, asked)
    if ruling.kind in BANS and ruling.player is not None:
        ruling.ban = _ban(ruling, ruling.player, now)
    if ruling.rollback is not None and ruling.rollback.state == Rollback.State.HELD:
        rollback_begin(rollback=ruling.rollback, now=now)
    if case is not None and ruling.kind in _CASE:
        _settle(case, _CASE[ruling.kind], now)


def undo(ruling: Ruling, *, now: datetime) -> None:
    """As if it had never been; what was ruled later about the same holds, and then followed what came before this."""
    if ruling.mode is not None and ruling.before["attempts"]:
        _unjudge(ruling, ruling.mode)
    if ruling.ban is not None:
        _lift(ruling, ruling.ban, now)
    if ruling.rollback is not None:
        rollback_undo(rollback=ruling.rollback)
    if ruling.case is not None and ruling.kind in _CASE:
        _reopen(ruling, ruling.case, now)


def _later(ruling: Ruling, kinds: Collection[str], **about: object) -> list[Ruling]:
    """Those in force, in their order."""
    after = Q(at__gt=ruling.at) | Q(at=ruling.at, pk__gt=ruling.pk)
    found = Ruling.objects.filter(after, state=Ruling.State.DONE, kind__in=kinds, **about).order_by("at", "pk")
    return list(found.select_for_update(of=("self",)))


def _reopen(ruling: Ruling, case: Case, now: datetime) -> None:
    """Unless more was found since: then it is open anyway."""
    following = _later(ruling, list(_CASE), case=case)
    if following:
        following[0].before["case"] = ruling.before["case"]
        following[0].save(update_fields=["before"])
    elif case.state == _CASE[ruling.kind]:
        _settle(case, ruling.before["case"], now)


def _settle(case: Case, state: str, now: datetime) -> None:
    case.state, case.updated_at = state, now
    case.held_by, case.held_until, case.snoozed_until = None, None, None
    case.save(update_fields=["state", "updated_at", "held_by", "held_until", "snoozed_until"])


def _ban(ruling: Ruling, player: Player, now: datetime) -> Ban:
    return Ban.objects.create(
        player=player,
        kind=BANS[Kind(ruling.kind)],
        mode_id=ruling.mode_id,
        starts_at=now,
        ends_at=ruling.ends_at,
        reason=ruling.reason,
        made_by_id=ruling.approved_by_id or ruling.by_id,
        made_by_key_id=ruling.by_key_id,
    )


def _lift(ruling: Ruling, ban: Ban, now: datetime) -> None:
    """Who was shadow banned goes on seeing itself until the boards show it again: such a ban ends, others vanish."""
    if ban.kind == Ban.Kind.SHADOW and ban.starts_at < now:
        ban.ends_at = min(ban.ends_at or now, now)
        ban.save(update_fields=["ends_at"])
    else:
        ban.delete()
        ruling.ban = None


def attempts_concerned(ruling: Ruling, *, asked: Collection[UUID]) -> list[int]:
    """The ids of those that it would judge. Nothing is changed, and nobody waits: pages ask it, too."""
    if ruling.kind not in _JUDGED or ruling.mode is None:
        return []
    concerned = _JUDGED[ruling.kind][0]
    found, states = _about(ruling, ruling.mode, asked, attempts_look)
    return [one.id for one in found if states.get(one.id) in concerned]


def _judge(ruling: Ruling, mode: Mode, asked: Collection[UUID]) -> list[list[object]]:
    """What undoing needs to know: player, id, when it arrived, what it was. Also of those that were so already."""
    after = _JUDGED[ruling.kind][1]
    found, states = _about(ruling, mode, asked, attempts_lock)
    told = ruling.reason if after is State.REJECTED else ""
    attempts_judge(mode=mode, attempts=found, state=after, told=told)
    return [
        [one.player, one.id, one.received_at.isoformat(), in_itself(states[one.id])]
        for one in found
        if one.id in states
    ]


def _about(
    ruling: Ruling, mode: Mode, asked: Collection[UUID], look: Callable[..., dict[int, State]]
) -> tuple[list[Logged], dict[int, State]]:
    """Those that are asked for, or all of its case that nobody has decided otherwise; and what they are."""
    found = _asked(ruling, mode, asked) if asked else _of_case(ruling)
    states = look(mode=mode, attempts=found)
    # after the lock: who rules on one of them now is waited for, and then seen
    decided = set() if asked else _decided_otherwise(ruling, mode)
    return [one for one in found if one.id not in decided], states


def _decided_otherwise(ruling: Ruling, mode: Mode) -> set[int]:
    """A case opens again for what is new: what a person decided about others before is not turned round with it."""
    after = _JUDGED[ruling.kind][1]
    others = [kind for kind, (_, state) in _JUDGED.items() if state is not after]
    made = Ruling.objects.filter(player=ruling.player_id, mode=mode, kind__in=others, state=Ruling.State.DONE)
    befores = made.order_by().values_list("before", flat=True)
    return {row[1] for before in befores for row in before["attempts"]}


def _asked(ruling: Ruling, mode: Mode, asked: Collection[UUID]) -> list[Logged]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id, id, received_at FROM score_attempts"
            " WHERE player_id = %s AND attempt_id = ANY(%s) AND mode_id = %s",
            [ruling.player_id, list(asked), mode.pk],
        )
        return [Logged(*row) for row in cursor.fetchall()]


def _of_case(ruling: Ruling) -> list[Logged]:
    """What its findings are about, and all that is quarantined: not every finding is kept. What only waits waits on."""
    found = Finding.objects.filter(case=ruling.case_id).values_list("attempt", "received_at").order_by()
    with connection.cursor() as cursor:
        cursor.execute(_QUARANTINED, [ruling.player_id, ruling.mode_id, WAITS])
        rows = {*found.distinct(), *cursor.fetchall()}
    return [Logged(ruling.player_id or 0, *row) for row in sorted(rows)]


# by the index of what is in quarantine, which says so with this very number
_QUARANTINED = f"""
SELECT id, received_at FROM score_attempts WHERE player_id = %s AND mode_id = %s AND state = {State.QUARANTINED.value}
AND coalesce(reasons, '[]') <> jsonb_build_array(%s::text)
"""  # noqa: S608 - the text is ours


def _unjudge(ruling: Ruling, mode: Mode) -> None:
    """What each was before, unless a later ruling or somebody else has made it something since."""
    after, rows = _JUDGED[ruling.kind][1], dict[int, tuple[Logged, State]]()
    for player, id_, at, was in ruling.before["attempts"]:
        rows[id_] = Logged(player, id_, datetime.fromisoformat(at)), State(was)
    # first: who rules on one of them now is waited for, and then seen
    states = attempts_lock(mode=mode, attempts=[one for one, _ in rows.values()])
    told = {one: "" for one, was in rows.values() if was is not after}  # by this; and what by a later one instead
    for later in _later(ruling, list(_JUDGED), mode=mode, player=ruling.player_id):
        for row in later.before["attempts"]:
            if row[1] in rows:
                one, row[3] = rows.pop(row[1])
                if one in told and _JUDGED[later.kind][1] is after:
                    told[one] = later.reason
        later.save(update_fields=["before"])
    for state in {was for _, was in rows.values()}:
        own = [one for one, was in rows.values() if was is state and in_itself(states.get(one.id, state)) is after]
        attempts_judge(mode=mode, attempts=own, state=state)
    if after is State.REJECTED:
        for reason in set(told.values()):
            some = [one for one, instead in told.items() if instead == reason]
            attempts_tell(mode=mode, attempts=some, instead_of=ruling.reason, told=reason)
