"""What all players of a mode have, told from the histogram of a board: the scores found at given shares of it."""

from bisect import bisect_left
from dataclasses import dataclass

from leaderboards.rules.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Cohort:
    """Scores are turned so that more is better."""

    histogram: Histogram
    base: int  # what a key is counted from, turned

    @property
    def total(self) -> int:
        return self.histogram.total

    def at(self, share: float) -> int:
        """The score that about this share of all members do not exceed: 0.5 is the median, 0.99 the upper hundredth."""
        rank = max(1, round(self.total * (1 - share)))
        index = min(bisect_left(self.histogram.upto, rank), len(self.histogram.keys) - 1)
        return self.histogram.keys[index] + self.base

    @property
    def deviation(self) -> float:
        """As of a normal distribution with the same quartiles: a few that are absurd do not widen it."""
        return (self.at(0.75) - self.at(0.25)) / 1.349
