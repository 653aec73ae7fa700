"""The largest possible jump: by how much one attempt may better what a player has."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_noop

from anticheat.checks.risk import risk_of
from anticheat.tuning import Act, Score, Tuning, scaled, tuned
from leaderboards.improvements import History, Improvement
from leaderboards.models import Mode
from leaderboards.rules.encoding import unscale
from leaderboards.verdicts import Verdict


class JumpTuning(Tuning, frozen=True, kw_only=True):
    act: Act = "quarantine"
    max: Score | None = None  # None: any

    def wrong(self, *, decimals: int) -> str:
        if self.max is not None and not scaled(self.max, decimals):
            return f"`max` is nought with {decimals} decimals."
        return ""


class Jump:
    """Says nothing until a mode declares how much is possible."""

    name = "jump"
    tuning = JumpTuning

    def may_hold(self, mode: Mode) -> bool:
        tuning = tuned(mode, self.name, JumpTuning)
        return tuning.may_hold and tuning.max is not None

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        tuning = tuned(mode, self.name, JumpTuning)
        if not tuning.on or tuning.max is None:
            return {}
        most, adding = max(1, scaled(tuning.max, mode.decimals)), mode.aggregation == "sum"
        gains = {index: gain for index, one in enumerate(some) if (gain := jumped(one, adding=adding)) > most}
        return {index: self._verdict(mode, tuning, gain, most) for index, gain in gains.items()}

    def _verdict(self, mode: Mode, tuning: JumpTuning, gain: int, most: int) -> Verdict:
        by, limit = unscale(gain, mode.decimals), unscale(most, mode.decimals)
        return Verdict(
            check=self.name,
            weight=tuning.weight,
            reason=f"{by} better than the player's best before; {limit} is possible.",
            told=gettext_noop("The score is a larger step than is possible; someone will look at it."),
            risk=risk_of(gain / most),
            details={"gain": float(by), "max": float(limit)},
        )


def jumped(one: Improvement, *, adding: bool) -> int:
    """By how much it betters what stands. A first score betters nothing; a first of those that add up, nought."""
    if one.before is None:
        return one.after if adding else 0
    return one.after - one.before
