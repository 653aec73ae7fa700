"""What attempts are in themselves, and so whether they count: set in bulk, in the log, and the boards follow.

In itself an attempt is accepted, quarantined or rejected. An accepted one that a rollback covers is taken back, and
counts again when none covers it any more.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from config.sql import numbers, texts
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.services.corrections import players_retell


class Logged(NamedTuple):
    """Where the log has an attempt."""

    player: int
    id: int
    received_at: datetime


def attempts_judge(*, mode: Mode, attempts: Sequence[Logged], state: State, told: str = "") -> dict[int, State]:
    """Makes them what they are from now on; what those that were something else were before, by id.

    Part of the caller's transaction. `told`: what their players may know of it.
    """
    states = attempts_lock(mode=mode, attempts=attempts)
    before = {id_: was for id_, was in states.items() if in_itself(was) is not state}
    changed = [one for one in attempts if one.id in before]
    if not changed:
        return {}
    # after the lock, so that whatever rollback has just covered them is seen
    with connection.cursor() as cursor:
        cursor.execute(_JUDGE, _columns(mode, changed) | {"state": state, "told": told} | _STATES)
    players_retell(mode=mode, players={one.player for one in changed})
    return {id_: in_itself(was) for id_, was in before.items()}


def attempts_tell(*, mode: Mode, attempts: Sequence[Logged], instead_of: str, told: str = "") -> None:
    """What their players may know, where they were told something that holds no more. They are locked."""
    with connection.cursor() as cursor:
        cursor.execute(_TELL, _columns(mode, attempts) | {"gone": instead_of, "told": told})


def in_itself(state: State) -> State:
    """Whatever rollbacks cover it."""
    return State.ACCEPTED if state is State.TAKEN_BACK else state


def attempts_cover(*, mode: Mode, attempts: Sequence[Logged]) -> None:
    """A rollback has just covered them: what counted counts no more. They are locked."""
    with connection.cursor() as cursor:
        cursor.execute(_COVER, _columns(mode, attempts) | _STATES)
        players = {player for (player,) in cursor.fetchall()}
    players_retell(mode=mode, players=players)


def attempts_uncover(*, mode: Mode, attempts: Sequence[Logged]) -> None:
    """A rollback covers them no more: what no other covers counts again. They are locked."""
    with connection.cursor() as cursor:
        cursor.execute(_UNCOVER, _columns(mode, attempts) | _STATES)
        players = {player for (player,) in cursor.fetchall()}
    players_retell(mode=mode, players=players)


def attempts_lock(*, mode: Mode, attempts: Sequence[Logged]) -> dict[int, State]:
    """Whoever judges them too waits; their states, by id. In one order, lest two wait for each other."""
    return _states(_LOCK, mode, attempts)


def attempts_look(*, mode: Mode, attempts: Sequence[Logged]) -> dict[int, State]:
    """Their states, by id. Nobody waits."""
    return _states(_LOOK, mode, attempts)


def _states(statement: str, mode: Mode, attempts: Sequence[Logged]) -> dict[int, State]:
    if not attempts:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(statement, _columns(mode, attempts))
        return {id_: State(state) for id_, state in cursor.fetchall()}


def _columns(mode: Mode, attempts: Sequence[Logged]) -> dict[str, Any]:
    arrivals = [one.received_at for one in attempts]
    return {
        "mode": mode.pk,
        "players": numbers(one.player for one in attempts),
        "ids": numbers(one.id for one in attempts),
        "arrivals": texts(at.isoformat() for at in arrivals),
        "first": min(arrivals),  # days before and after need not be looked at
        "last": max(arrivals),
    }


_STATES = {"accepted": State.ACCEPTED, "taken_back": State.TAKEN_BACK}
_OF = "unnest(%(players)s::bigint[], %(ids)s::bigint[], %(arrivals)s::timestamptz[]) AS i (player, id, arrival)"
_THESE = """
a.player_id = i.player AND a.received_at = i.arrival AND a.id = i.id AND a.mode_id = %(mode)s
AND a.received_at BETWEEN %(first)s AND %(last)s
"""
_COVERED = "EXISTS (SELECT FROM anticheat_withdrawal w WHERE w.attempt = a.id)"
_LOOK = f"SELECT a.id, a.state FROM {_OF} JOIN score_attempts a ON {_THESE}"  # noqa: S608 - ours, as the following
_LOCK = f"{_LOOK} ORDER BY a.player_id, a.id FOR UPDATE OF a"
_JUDGE = f"""
UPDATE score_attempts a SET
    state = CASE WHEN %(state)s = %(accepted)s AND {_COVERED} THEN %(taken_back)s ELSE %(state)s END,
    reasons = CASE WHEN %(told)s = '' THEN a.reasons ELSE coalesce(a.reasons, '[]') || to_jsonb(%(told)s::text) END
FROM {_OF} WHERE {_THESE}
"""  # noqa: S608
# the last that says so: others may have said the same
_TELL = f"""
UPDATE score_attempts a SET reasons = nullif(
    a.reasons - (SELECT max(n)::int - 1 FROM jsonb_array_elements_text(a.reasons) WITH ORDINALITY AS r (reason, n)
                 WHERE reason = %(gone)s)
    || CASE WHEN %(told)s = '' THEN '[]' ELSE jsonb_build_array(%(told)s::text) END, '[]')
FROM {_OF} WHERE {_THESE} AND a.reasons ? %(gone)s::text
"""  # noqa: S608
_COVER = f"""
UPDATE score_attempts a SET state = %(taken_back)s FROM {_OF} WHERE {_THESE} AND a.state = %(accepted)s
RETURNING a.player_id
"""  # noqa: S608
_UNCOVER = f"""
UPDATE score_attempts a SET state = %(accepted)s
FROM {_OF} WHERE {_THESE} AND a.state = %(taken_back)s AND NOT {_COVERED} RETURNING a.player_id
"""  # noqa: S608
