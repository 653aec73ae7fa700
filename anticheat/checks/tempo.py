"""Tempo over the log: more points a second than the mode gives, or than the player ever had."""

from collections.abc import Iterable
from math import exp, log

from anticheat.checks.habits import habit_verdict
from anticheat.checks.timing import TimingTuning
from anticheat.trail import LATELY, Running, Trail, change
from anticheat.tuning import Times, Tuning, tuned
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class LogTiming:
    """More points a second than the mode gives: as at the door, and told from the log, where no token says so."""

    name = "timing"
    tuning = TimingTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, TimingTuning)

    def look(self, trail: Trail) -> Verdict | None:
        most = self.tuned.per_second
        if not self.tuned.on or not most or trail.rate is None or trail.gap is None or trail.rate <= most:
            return None
        reason = f"{trail.latest.points:g} points in {trail.gap:.0f} s: more than {most:g} a second."
        return habit_verdict(self, trail.rate / most, reason, {"per_second": round(trail.rate, 1), "most": most})


class TempoTuning(Tuning, frozen=True, kw_only=True):
    times: Times = 1.35  # what it had before
    sure: Times = 5.5  # how many times what chance does


class Tempo:
    """All at once far more points a second than the player ever had."""

    name = "tempo"
    tuning = TempoTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, TempoTuning)

    def look(self, trail: Trail) -> Verdict | None:
        if not self.tuned.on or trail.rate is None or trail.rates.count < LATELY:
            return None
        found = change(trail.rates, _running(trail.lately), floor=0.12)
        if found.by < log(self.tuned.times) or found.sure < self.tuned.sure:
            return None
        times = exp(found.by)
        reason = f"{times:.1f} times the points a second it had before, in {LATELY} attempts on end."
        return habit_verdict(self, found.sure / self.tuned.sure, reason, {"times": round(times, 2)})


def _running(values: Iterable[float]) -> Running:
    found = Running()
    for value in values:
        found.add(value)
    return found
