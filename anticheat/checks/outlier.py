"""Against the player's own history: a score far beyond what the player has shown so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from django.utils.translation import gettext_noop
from msgspec import Meta

from anticheat.checks.risk import risk_of
from anticheat.tuning import Times, Tuning, tuned
from leaderboards.improvements import History, Improvement, turn
from leaderboards.models import Mode
from leaderboards.rules.cohort import Cohort
from leaderboards.rules.encoding import unscale
from leaderboards.verdicts import Verdict

FEWEST = 5  # attempts, before anything is said of the next
_TELLING = 50  # attempts that say half of all: one lucky run after few of them is no proof, and alone never one
_NORMAL = 1.4826  # a normal distribution's deviation, in medians of the distances from its median


class OutlierTuning(Tuning, frozen=True, kw_only=True):
    deviations: Times = 6.0  # from the median of the last scores; of few scores more
    gain: Annotated[float, Meta(ge=0, le=1_000_000)] = (
        0.5  # over the best, in deviations of all players: what is less is not looked at
    )
    floor: Annotated[float, Meta(gt=0, le=1)] = 0.02  # the least deviation, as a share of the median


@dataclass(frozen=True, slots=True)
class Strangeness:
    """How far a score is from what came before it."""

    deviations: float
    limit: float
    median: float
    deviation: float
    attempts: int


class Outlier:
    name = "outlier"
    tuning = OutlierTuning

    def may_hold(self, mode: Mode) -> bool:
        return tuned(mode, self.name, OutlierTuning).may_hold

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        tuning = tuned(mode, self.name, OutlierTuning)
        if not tuning.on:
            return {}
        looked_at = _worth_a_look(some, look.cohort(), tuning.gain)
        if not looked_at:
            return {}
        past = look.past([some[index] for index in looked_at])
        verdicts = {}
        for index in looked_at:
            scores = [one.score for one in past.get(some[index].player, ())]
            found = strangeness(some[index].score, scores, tuning)
            if found and found.deviations > found.limit:
                verdicts[index] = self._verdict(mode, tuning, some[index].score, found)
        return verdicts

    def _verdict(self, mode: Mode, tuning: OutlierTuning, score: int, found: Strangeness) -> Verdict:
        sign, decimals = turn(mode), mode.decimals
        usual = unscale(round(found.median) * sign, decimals)
        return Verdict(
            check=self.name,
            weight=tuning.weight,
            reason=(
                f"{unscale(score * sign, decimals)} is {found.deviations:.1f} deviations better than the player's usual"
                f" {usual} (of the last {found.attempts} attempts; {found.limit:.1f} are believable)."
            ),
            told=gettext_noop("The score is far from what you have shown so far; someone will look at it."),
            risk=risk_of(found.deviations / found.limit) * found.attempts / (found.attempts + _TELLING),
            details={
                "deviations": round(found.deviations, 2),
                "limit": round(found.limit, 2),
                "median": float(usual),
                "deviation": round(found.deviation / 10**decimals, 6),
                "attempts": found.attempts,
            },
        )


def _worth_a_look(some: Sequence[Improvement], cohort: Cohort | None, gain: float) -> list[int]:
    """Those that better the player's own best by more than a little. Every batch comes by here: no query."""
    if cohort is not None:
        least = gain * cohort.deviation
        return [index for index, one in enumerate(some) if one.before is not None and one.after - one.before > least]
    return [
        index
        for index, one in enumerate(some)
        if one.before is not None and one.after - one.before > gain * abs(one.before)
    ]


def strangeness(score: int, past: Sequence[int], tuning: OutlierTuning) -> Strangeness | None:
    """By median and distances from it, which a few odd scores do not move. None where there are too few to tell.

    Few scores tell less of how far they scatter: the limit is twice as far for five, and a tenth further for fifty.
    """
    if len(past) < FEWEST:
        return None
    middle = median(past)
    scatter = _NORMAL * median(abs(one - middle) for one in past)
    deviation = max(scatter, tuning.floor * abs(middle), 1.0)
    limit = tuning.deviations * (1 + FEWEST / len(past))
    return Strangeness((score - middle) / deviation, limit, middle, deviation, len(past))
