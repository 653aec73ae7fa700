"""Clockwork over the log: what plays like a machine, in its pauses and in its days."""

from math import sqrt
from statistics import fmean

from anticheat.checks.habits import habit_verdict
from anticheat.trail import GAPS, Trail
from anticheat.tuning import Times, Tuning, tuned
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class RegularityTuning(Tuning, frozen=True, kw_only=True):
    variation: Times = 0.13  # of the pauses, as a share of their mean: less is a clock's


class Regularity:
    """Attempts like the ticks of a clock."""

    name = "regularity"
    tuning = RegularityTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, RegularityTuning)

    def look(self, trail: Trail) -> Verdict | None:
        if not self.tuned.on or trail.gap is None or len(trail.gaps) < GAPS:
            return None
        mean, limit = fmean(trail.gaps), self.tuned.variation
        variation = sqrt(fmean((gap - mean) ** 2 for gap in trail.gaps)) / mean
        if variation >= limit:
            return None
        reason = f"{GAPS} attempts {mean:.0f} seconds apart, give or take {variation:.1%}."
        details = {"every_seconds": round(mean, 1), "variation": round(variation, 4)}
        return habit_verdict(self, limit / max(variation, 0.001), reason, details)


class SleeplessTuning(Tuning, frozen=True, kw_only=True):
    hours: Times = 18  # of 24, with attempts in them
    attempts: Times = 100  # in all of them, at least


class Sleepless:
    """Attempts in nearly every hour of a day."""

    name = "sleepless"
    tuning = SleeplessTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, SleeplessTuning)

    def look(self, trail: Trail) -> Verdict | None:
        if not self.tuned.on or len(trail.hours) < self.tuned.hours:
            return None
        day = [count for hour, count in trail.hours if hour > trail.hours[-1][0] - 24]
        if len(day) < self.tuned.hours or sum(day) < self.tuned.attempts:
            return None
        reason = f"{sum(day)} attempts in {len(day)} of 24 hours."
        return habit_verdict(self, 1 + len(day) - self.tuned.hours, reason, {"hours": len(day), "attempts": sum(day)})
