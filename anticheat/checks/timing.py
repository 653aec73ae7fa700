"""Impossible timing: a score reached faster than the mode allows, and a player in two places at once.

How long an attempt took is known where the game vouched for it: from its token's `iat` to when the score was achieved.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated

from django.utils.translation import gettext_noop
from msgspec import Meta

from anticheat.pace import Before
from anticheat.tuning import WEIGHTS, Act, Tuning, tuned
from leaderboards.admission import Door, Finding
from leaderboards.candidates import Candidate
from leaderboards.models import Mode
from leaderboards.rules.encoding import MAX_RAW, unscale
from leaderboards.verdicts import Verdict
from players import tokens

_TOLD = gettext_noop("It was reached faster than the mode allows.")
_ELSEWHERE = gettext_noop("Somebody plays this account elsewhere.")


class TimingTuning(Tuning, frozen=True, kw_only=True):
    act: Act = "quarantine"  # of what was too fast
    per_second: Annotated[float, Meta(ge=0, le=MAX_RAW)] = (
        0  # most points a second, where higher is better; 0: not known
    )
    least_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 0  # that any attempt takes
    risk: Annotated[float, Meta(gt=0, lt=1)] = 0.8
    apart_seconds: Annotated[int, Meta(ge=0, le=3600)] = 10  # within which nobody is elsewhere; 0: not looked at
    apart_act: Act = "flag"
    apart_risk: Annotated[float, Meta(gt=0, lt=1)] = 0.2  # telephones change networks


class Timing:
    """Too fast. Says nothing until a mode declares what is possible."""

    name = "timing"
    tuning = TimingTuning

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        findings: dict[int, Finding] = {}
        for index, one in enumerate(batch):
            if one.token is None or not one.mode.checks:
                continue
            tuning = tuned(one.mode, self.name, TimingTuning)
            if not tuning.on or not (tuning.per_second or tuning.least_seconds):
                continue
            took = _took(one, door)
            verdict = None if took is None else _too_fast(one, took, tuning)
            if verdict:
                findings[index] = verdict
        return findings


def _took(one: Candidate, door: Door) -> float | None:
    """Seconds; None where nobody vouches for the beginning. A token that is not good is another check's business."""
    try:
        claims = tokens.attempt_claims(one.token or "", secret=door.game.signing_secret, now=door.now)
    except tokens.TokenRefused:
        return None
    return None if claims.began_at is None else max(0.0, _seconds(claims.began_at, one.achieved_at))


def _seconds(began: datetime, achieved: datetime) -> float:
    return (achieved - began).total_seconds()


def _too_fast(one: Candidate, took: float, tuning: TimingTuning) -> Verdict | None:
    score = Decimal(unscale(one.score, one.mode.decimals))
    if took < tuning.least_seconds:
        why = f"An attempt takes {tuning.least_seconds:g} s at least; this one took {took:.1f} s."
    elif one.mode.order == "desc" and tuning.per_second and score > Decimal(tuning.per_second) * Decimal(took):
        why = f"{score} points in {took:.1f} s: more than {tuning.per_second:g} a second."
    else:
        return None
    details = {"seconds": took, "per_second": tuning.per_second, "least_seconds": tuning.least_seconds}
    return Verdict(Timing.name, tuning.weight, why, _TOLD, tuning.risk, details)


def remembered(mode: Mode) -> int:
    """For how many seconds it matters where a player was."""
    tuning = tuned(mode, Timing.name, TimingTuning)
    return tuning.apart_seconds if tuning.on else 0


def apart(mode: Mode, before: Before | None, address: str, device: str) -> Verdict | None:
    """A verdict on who is elsewhere than a moment ago: on another device, or at another address of the same kind."""
    tuning = tuned(mode, Timing.name, TimingTuning)
    if before is None or before.seconds > tuning.apart_seconds:
        return None
    if _differ(before.device, device):
        what = "on another device"
    elif _differ(before.address, address) and (":" in before.address) is (":" in address):
        what = "at another address"
    else:
        return None
    why = f"{before.seconds:.1f} s before, the same player submitted {what}."
    weight, details = WEIGHTS[tuning.apart_act], {"seconds": before.seconds, "what": what}
    return Verdict("places", weight, why, _ELSEWHERE, tuning.apart_risk, details)


def _differ(before: str, now: str) -> bool:
    return bool(before and now) and before != now
