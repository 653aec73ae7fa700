"""What the season's points are worth in a mode: within its bounds, in its order, with its dimensions."""

from collections.abc import Mapping, Sequence
from math import exp
from random import Random

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.projection import DimensionValue
from leaderboards.rules.mode import PLAYERS_OWN, ModeRules

_GOOD = 40_000.0  # points that take two thirds of the way to the best score there is
_QUICK = 20_000.0  # the same where less is better
_SLOWEST = 8  # times the best that there can be, where less is better
_SECONDS = 30  # the best that there can be, where a mode says nothing of it
_RUNS = 1000  # of the best, that a total can hold
_VALUES = 20  # of a dimension, at most


class Scale:
    def __init__(self, mode: Mode, values: Mapping[str, Sequence[str]]) -> None:
        self._rules, self._values = mode.rules, values

    def score(self, points: int, dimensions: Mapping[str, str]) -> Exact:
        rules = self._rules
        low, high = _bounds(rules, dimensions)
        if rules.order == "asc":
            low = _SECONDS * 10**rules.decimals if low is None else low
            slowest = low + _SLOWEST * low if low > 0 else 10 ** (rules.decimals + 2)
            raw = low + (min(high, slowest) - low if high is not None else slowest - low) * exp(-points / _QUICK)
        elif high is None:
            raw = points * 10**rules.decimals + (low or 0)
        else:
            low = low if low is not None else 0
            raw = low + (high - low) * (1 - exp(-points / _GOOD))
        return Exact(f"{round(raw)}e-{rules.decimals}")

    def dimensions(self, chance: Random) -> dict[str, str]:
        return {name: chance.choice(values) for name, values in self._values.items()}


def scale_of(mode: Mode) -> Scale:
    """With values of its dimensions: declared, or taken, or with bounds of their own, or such as it may take."""
    taken: dict[str, list[str]] = {}
    for name, value in DimensionValue.objects.filter(mode=mode).order_by("name", "value").values_list("name", "value"):
        taken.setdefault(name, []).append(value)
    values: dict[str, Sequence[str]] = {}
    for name in mode.dimensions:
        if name not in PLAYERS_OWN:
            bounded = [scope.partition(":")[2] for scope in mode.bounds if scope.startswith(f"{name}:")]
            some = mode.values.get(name) or taken.get(name) or bounded or ["1", "2", "3"][: mode.dimension_values]
            values[name] = some[:_VALUES]
    return Scale(mode, values)


def _bounds(rules: ModeRules, dimensions: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Of one score, as the mode has them for these values."""
    low, high = rules.min_score, rules.max_score
    for scope in (f"{name}:{value}" for name, value in dimensions.items()):
        sides = rules.bounds.get(scope)
        if sides is not None:
            low = sides.low if low is None else max(low, low if sides.low is None else sides.low)
            high = sides.high if high is None else min(high, high if sides.high is None else sides.high)
    if rules.aggregation == "sum" and rules.max_total is not None:
        total = (low or 0) + max(1, rules.max_total // _RUNS)
        high = total if high is None else min(high, total)
    return low, high
