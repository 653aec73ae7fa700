"""Scores held because a check could not be made, and for nothing else: they have no case with which to be released."""

from collections.abc import Callable
from datetime import datetime

from django.db import connection

from anticheat import audit
from anticheat.services.attempt_states import Logged, attempts_judge
from anticheat.services.rulings import again_after_deadlock
from config.audit import Who
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.verdicts import UNCHECKED

AT_ONCE = 1000


def unchecked_count(*, mode: Mode, since: datetime, until: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {_HELD}", [mode.pk, since, until, UNCHECKED, UNCHECKED])
        count: int = cursor.fetchone()[0]
        return count


def unchecked_release(
    *, mode: Mode, since: datetime, until: datetime, who: Who, progress: Callable[[int], None] = lambda _: None
) -> int:
    """They count from now on; how many. Some at a time, each in a transaction of its own: safe to break off."""

    def some() -> int:
        with connection.cursor() as cursor:
            cursor.execute(_SOME, [mode.pk, since, until, UNCHECKED, UNCHECKED, AT_ONCE])
            held = [Logged(*row) for row in cursor.fetchall()]
        if held:
            attempts_judge(mode=mode, attempts=held, state=State.ACCEPTED)
            after = {"attempts": len(held), "since": since, "until": until}
            audit.record(verb="mode.release_unchecked", who=who, about=mode, after=after)
        return len(held)

    done = 0
    while released := again_after_deadlock(some):
        done += released
        progress(done)
    return done


# by the index of what is in quarantine, which says so with this very number. Not every check that holds a score tells
# its player why: those that do not have a finding
_HELD = f"""
FROM score_attempts a WHERE a.mode_id = %s AND a.state = {State.QUARANTINED.value}
AND a.received_at >= %s AND a.received_at < %s AND a.reasons ? %s::text AND a.reasons - %s::text = '[]'
AND NOT EXISTS (SELECT FROM anticheat_finding f WHERE f.attempt = a.id AND f.verdict <> 'flag')
"""
_SOME = f"SELECT a.player_id, a.id, a.received_at {_HELD} ORDER BY a.player_id, a.id LIMIT %s FOR UPDATE OF a"
