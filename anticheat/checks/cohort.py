"""Against all players of the mode: a score that lies far beyond the best of them."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_noop

from anticheat.checks.risk import risk_of
from anticheat.tuning import Times, Tuning, tuned
from leaderboards.improvements import History, Improvement, turn
from leaderboards.models import Mode
from leaderboards.rules.cohort import Cohort
from leaderboards.rules.encoding import unscale
from leaderboards.verdicts import Verdict, Weight

FEWEST = 1000  # members, before anything is said
_UPPER, _TOP = 0.9, 0.99  # shares of all: between them lies the upper tail


class CohortTuning(Tuning, frozen=True, kw_only=True):
    far: Times = 4.0  # lengths of the upper tail beyond it
    absurd: Times = 40.0  # as many, and it is quarantined whatever `act` says


class BeyondCohort:
    name = "cohort"
    tuning = CohortTuning

    def may_hold(self, mode: Mode) -> bool:
        """Also what is absurd is rare: that it is, is said when it is, and not before to all."""
        return tuned(mode, self.name, CohortTuning).may_hold

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        tuning = tuned(mode, self.name, CohortTuning)
        cohort = look.cohort() if tuning.on else None
        if cohort is None or cohort.total < FEWEST:
            return {}
        top, tail = upper_tail(cohort)
        limit = top + tuning.far * tail
        return {
            index: self._verdict(mode, tuning, one.after, top, tail)
            for index, one in enumerate(some)
            if one.after > limit
        }

    def _verdict(self, mode: Mode, tuning: CohortTuning, after: int, top: int, tail: int) -> Verdict:
        sign, times = turn(mode), (after - top) / tail
        shown = unscale(top * sign, mode.decimals)
        absurd = times > tuning.absurd
        return Verdict(
            check=self.name,
            weight=max(tuning.weight, Weight.QUARANTINE) if absurd else tuning.weight,
            reason=(
                f"{unscale(after * sign, mode.decimals)} is beyond the best hundredth of all players, which begins at"
                f" {shown}, by {times:.1f} times as much as that is beyond the best tenth."
            ),
            told=gettext_noop("The score is far beyond all others; someone will look at it."),
            risk=risk_of(times / tuning.far),
            details={"times": round(times, 2), "far": tuning.far, "best_hundredth": float(shown)},
        )


def upper_tail(cohort: Cohort) -> tuple[int, int]:
    """Where the best hundredth begins, and how far that is from where the best tenth does: 1 at least.

    The hundredth, not less: what the few who cheat have must not tell what is believable.
    """
    top = cohort.at(_TOP)
    return top, max(1, top - cohort.at(_UPPER))
