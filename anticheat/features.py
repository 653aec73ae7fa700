"""What a model is told of a player: a dozen numbers about its sessions, kept while the log is walked. Pure."""

from typing import Final

from anticheat.trail import Running, Trail

FEATURES: Final = (
    "attempts_a_session",
    "attempts_a_day",
    "pauses_vary",  # within a session, as a share of their mean
    "scores_vary",
    "best_over_usual",
    "slope",  # of the scores, over ten attempts
    "improving",  # share of attempts that were its best so far
    "points_a_second",  # on the scale of scores: twice as many is as far everywhere
    "points_a_second_vary",
    "devices",
    "swaps",  # between devices and back, share of attempts
    "hours_a_day",  # with attempts in them, of its longest day
)
FEWEST = 10  # attempts, before a player is told of at all
_SLOPE = 10


class Features:
    """One player's. Added to after its trail, whose latest attempt it is told."""

    __slots__ = (
        "best",
        "day",
        "days",
        "hours",
        "improved",
        "levels",
        "most_hours",
        "pauses",
        "rates",
        "sessions",
        "trend",
    )

    def __init__(self) -> None:
        self.levels, self.pauses, self.rates = Running(), Running(), Running()
        self.trend = 0.0  # sum of level × number of the attempt
        self.best = float("-inf")
        self.improved = self.sessions = self.days = self.day = self.most_hours = 0
        self.hours: set[int] = set()

    def add(self, trail: Trail) -> None:
        one = trail.latest
        if one.level is None:
            return
        self.trend += one.level * self.levels.count
        self.levels.add(one.level)
        if one.level > self.best:
            self.best = one.level
            self.improved += 1
        before = trail.last[-2] if len(trail.last) > 1 else None
        if before is None or before.session != one.session:
            self.sessions += 1
        elif trail.gap is not None:
            self.pauses.add(trail.gap)
        if trail.rate is not None:
            self.rates.add(trail.lately[-1])
        self._add_hour(int(one.achieved_at // 3600))

    def _add_hour(self, hour: int) -> None:
        if hour // 24 != self.day:
            self.day = hour // 24
            self.days += 1
            self.hours.clear()
        self.hours.add(hour)
        self.most_hours = max(self.most_hours, len(self.hours))

    def vector(self, trail: Trail) -> list[float] | None:
        """In the order of FEATURES; None where there are too few attempts to tell."""
        count = self.levels.count
        if count < FEWEST:
            return None
        return [
            count / self.sessions,
            count / self.days,
            self.pauses.deviation / self.pauses.mean if self.pauses.mean else 0.0,
            self.levels.deviation,
            self.best - self.levels.mean,
            self._slope(count),
            self.improved / count,
            self.rates.mean,
            self.rates.deviation,
            float(len(trail.devices)),
            trail.swaps / count,
            float(self.most_hours),
        ]

    def _slope(self, count: int) -> float:
        """Of the line that fits the scores best."""
        middle = (count - 1) / 2
        return _SLOPE * (self.trend - middle * count * self.levels.mean) / (count * (count * count - 1) / 12)
