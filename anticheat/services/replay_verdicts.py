"""What a verified replay does to its attempt: releases it, rejects it, or leaves it to people."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction
from django.utils.translation import gettext_noop

from anticheat.checks.replay import NAME, WAITS, wanted
from anticheat.models import Case, Finding, Ruling
from anticheat.replays import Replay
from anticheat.sandbox import NotVerified
from anticheat.services.attempt_states import Logged, attempts_judge, attempts_lock
from anticheat.services.locks import player_lock
from anticheat.services.replays import Attempt, attempt_find
from anticheat.verifying import Outcome
from leaderboards import verdicts
from leaderboards.errors import AttemptNotFound
from leaderboards.log import State
from leaderboards.rules.encoding import scale, unscale
from leaderboards.verdicts import Found, Verdict, Weight

_VERIFIED = "Its replay was verified."
_WRONG = gettext_noop("Its replay does not reach this score.")
_LATE = timedelta(hours=1)
_MOST = 100


def replay_settle(*, replay: Replay, outcome: Outcome | NotVerified, now: datetime) -> None:
    """Once, whoever comes too late."""
    with transaction.atomic(durable=True):
        _case_lock(replay)
        mine = Replay.objects.filter(pk=replay.pk, state=Replay.State.WAITING, tries=replay.tries)
        if not mine.select_for_update():
            return
        attempt = _locked(replay)
        if attempt is None:
            outcome = NotVerified("The attempt is not in the log any more.")
        state, said = _judged(outcome, attempt)
        mine.update(state=state, said=said[:500], claimed_until=None, settled_at=now)
        if attempt is None:
            return
        if state == Replay.State.VERIFIED:
            _release(replay, attempt)
        elif state == Replay.State.WRONG:
            _reject(replay, attempt, said)
        else:
            _record(replay, attempt, Verdict(NAME, _as_it_is(attempt), f"It could not be verified. {said}", risk=0.3))


def replays_release(*, now: datetime) -> int:
    """Scores that began to wait while their replay was being verified, in the last hour; how many."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD, [Replay.State.VERIFIED, now - _LATE, State.QUARANTINED, WAITS, _MOST])
        late = [pk for (pk,) in cursor.fetchall()]
    released = 0
    for replay in Replay.objects.filter(pk__in=late).select_related("mode", "player"):
        with transaction.atomic(durable=True):
            _case_lock(replay)
            attempt = _locked(replay)
            released += attempt is not None and _release(replay, attempt)
    return released


def _case_lock(replay: Replay) -> None:
    """With its player; where there is no case, that alone."""
    player_lock(replay.player_id)
    Case.objects.select_for_update(of=("self",)).filter(mode=replay.mode_id, player=replay.player_id).first()


def _locked(replay: Replay) -> Attempt | None:
    attempts_lock(mode=replay.mode, attempts=[_logged(replay)])
    try:
        return attempt_find(player=replay.player, attempt_id=str(replay.attempt_id))
    except AttemptNotFound:
        return None


def _judged(outcome: Outcome | NotVerified, attempt: Attempt | None) -> tuple[Replay.State, str]:
    if isinstance(outcome, NotVerified) or attempt is None:
        return Replay.State.UNVERIFIED, str(outcome)
    if outcome.score is None:
        return Replay.State.WRONG, f"The verifier refused its replay: {outcome.refusal}"
    if _is_reached(outcome, attempt):
        return Replay.State.VERIFIED, f"It reaches {outcome.score}."
    return (
        Replay.State.WRONG,
        f"Its replay reaches {outcome.score}, not {unscale(attempt.score, attempt.mode.decimals)}.",
    )


def _is_reached(outcome: Outcome, attempt: Attempt) -> bool:
    try:
        return scale(Decimal(outcome.score or 0), attempt.mode.decimals) == attempt.score
    except ValueError:  # no score of this mode at all
        return False


def _release(replay: Replay, attempt: Attempt) -> bool:
    """Where it waited for its replay and for nothing else."""
    held = Finding.objects.filter(attempt=replay.attempt).exclude(verdict=Finding.Verdict.FLAG).exclude(check_name=NAME)
    if attempt.state is not State.QUARANTINED or attempt.reasons != [WAITS] or held.exists():
        return False
    _judge(replay, State.ACCEPTED, _VERIFIED)
    return True


def _reject(replay: Replay, attempt: Attempt, said: str) -> None:
    """Unless people have spoken about it, or the mode would only have it flagged: then they are told."""
    if wanted(replay.mode).act == "flag" or _is_ruled(replay):
        _record(replay, attempt, Verdict(NAME, _as_it_is(attempt), said, risk=0.95))
    else:
        _judge(replay, State.REJECTED, _WRONG)
        _record(replay, attempt, Verdict(NAME, Weight.REJECT, said, _WRONG, risk=0.95))


def _as_it_is(attempt: Attempt) -> Weight:
    return Weight.QUARANTINE if attempt.state is State.QUARANTINED else Weight.FLAG


def _is_ruled(replay: Replay) -> bool:
    done = Ruling.objects.filter(mode=replay.mode_id, player=replay.player_id, state=Ruling.State.DONE)
    befores = done.order_by().values_list("before", flat=True)
    return any(id_ == replay.attempt for before in befores for _, id_, *_ in before.get("attempts", ()))


def _judge(replay: Replay, state: State, told: str) -> None:
    attempts_judge(mode=replay.mode, attempts=[_logged(replay)], state=state, told=told)


def _record(replay: Replay, attempt: Attempt, verdict: Verdict) -> None:
    about = replay.mode, replay.player_id, replay.attempt, replay.attempt_id, replay.received_at, attempt.score
    verdicts.record([Found(*about, verdict)])


def _logged(replay: Replay) -> Logged:
    return Logged(replay.player_id, replay.attempt, replay.received_at)


_HELD = """
SELECT r.id FROM anticheat_replay r
JOIN score_attempts a ON a.player_id = r.player_id AND a.received_at = r.received_at AND a.id = r.attempt
WHERE r.state = %s AND r.settled_at >= %s AND a.state = %s AND a.reasons = jsonb_build_array(%s::text) LIMIT %s
"""
