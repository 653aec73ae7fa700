"""Where a score stands on a board: one integer that orders entries, and back from it.

place = key · 2^k + tie. The key is the score, turned so that more is better; the tie is the time since the window
began, turned so that who should win has more. A place is a whole number within ±2^53: a sorted set keeps it exactly.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from leaderboards.rules import encoding
from leaderboards.rules.instants import MICROSECOND, micros
from leaderboards.rules.mode import ModeRules
from leaderboards.rules.windows import Window


@dataclass(frozen=True, slots=True)
class Placing:
    """The encoding of one window of one mode."""

    base: int  # the worst score of the range; 0 where places hold no time
    sign: int  # 1: higher is better, -1: lower is better
    bits: int  # left for the time; 0: equal scores are equal
    starts_at: datetime | None
    step_us: int  # how long one step of the tie is
    earliest_wins: bool

    def place(self, score: int, at: int) -> int:
        """`at`: microseconds since 1970."""
        key = self.key(score)
        return (key << self.bits) + self._tie(at) if self.bits else key

    def places(self, scores: Iterable[int], ats: Iterable[int]) -> list[int]:
        """The same for many: what is the same for all is worked out once."""
        limit, base, sign, bits = encoding.MAX_RAW >> self.bits, self.base, self.sign, self.bits
        keys = _within([(score - base) * sign for score in scores], -limit, limit - 1 if bits else limit)
        if self.starts_at is None:
            return keys
        begins, step, most = micros(self.starts_at), self.step_us, self._most
        steps = _within([(at - begins) // step for at in ats], 0, most)
        if self.earliest_wins:
            return [(key << bits) + most - step for key, step in zip(keys, steps, strict=True)]
        return [(key << bits) + step for key, step in zip(keys, steps, strict=True)]

    def read(self, places: Iterable[int]) -> list[tuple[int, datetime | None]]:
        """The score of each place, and when it was achieved."""
        base, sign, bits, starts_at = self.base, self.sign, self.bits, self.starts_at
        if starts_at is None:
            return [(place * sign + base, None) for place in places]
        step, most = self.step_us * MICROSECOND, self._most
        turn = most if self.earliest_wins else 0  # `x ^ most` is `most - x`
        return [((place >> bits) * sign + base, starts_at + ((place & most) ^ turn) * step) for place in places]

    def score(self, place: int) -> int:
        return (place >> self.bits) * self.sign + self.base

    def achieved_at(self, place: int) -> datetime | None:
        """To the exactness of one step; None where places hold no time."""
        return self.read([place])[0][1]

    def places_of(self, score: int) -> tuple[int, int]:
        """The least and the greatest place that this score can have; beyond all places where it is beyond the range."""
        key = (score - self.base) * self.sign << self.bits
        return key, key + self._most

    def key(self, score: int) -> int:
        """Of a score beyond the range (a total, or one older than the range) the nearest that a place can hold."""
        limit = encoding.MAX_RAW >> self.bits
        return min(max((score - self.base) * self.sign, -limit), limit - 1 if self.bits else limit)

    @property
    def _most(self) -> int:
        return (1 << self.bits) - 1

    def _tie(self, at: int) -> int:
        assert self.starts_at is not None  # noqa: S101 - bits and a beginning come together
        steps = (at - micros(self.starts_at)) // self.step_us
        steps = min(max(steps, 0), self._most)
        return self._most - steps if self.earliest_wins else steps


def _within(numbers: list[int], least: int, most: int) -> list[int]:
    """Nearly always all of them are."""
    if not numbers or (min(numbers) >= least and max(numbers) <= most):
        return numbers
    return [min(max(number, least), most) for number in numbers]


def dense_width(rules: ModeRules) -> int:
    """How many places one key has, for boards that count distinct keys; 0 where they need not."""
    if rules.ranking != "dense":
        return 0
    return 1 if rules.tie_break == "none" else 1 << encoding.tie_bits(*rules.key_range())


def placing(rules: ModeRules, window: Window, *, epoch: datetime) -> Placing:
    """`epoch`: where the mode's all-time clock begins."""
    low, high = rules.key_range()
    sign = 1 if rules.order == "desc" else -1
    budget = None if rules.tie_break == "none" else encoding.tie_budget(window, low, high)
    if budget is None or low is None or high is None:
        return Placing(0, sign, 0, None, 0, earliest_wins=True)  # the score itself, which fits whatever the range
    base = low if sign > 0 else high
    starts_at = (window.starts_at or epoch).astimezone(UTC)
    span_us = budget.span_ms * 1000
    step_us = max(1, -(-span_us >> budget.bits))
    return Placing(base, sign, budget.bits, starts_at, step_us, earliest_wins=rules.tie_break == "earliest")
