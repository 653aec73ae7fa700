"""The rules of a mode, as one frozen value, and what makes them fit together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from leaderboards.rules import encoding, windows

PLAYERS_OWN = ("region", "country")  # dimensions that come from the player, not from the submission
# once scores exist: what they mean, how they are placed on boards, and which boards there are depends on these
LOCKED = (
    "aggregation", "order", "decimals", "timezone", "min_score", "max_score", "max_total", "tie_break", "ranking",
    "windows", "dimensions",
)  # fmt: skip
MOST_DIMENSIONS = 8
MOST_DIMENSION_VALUES = 10_000
MOST_DECLARED_VALUES = 2_000  # of a mode: every answer about the mode lists them
NEW_VALUES_A_DAY = 10  # that one player may bring to one mode, with new_values = "anyone"
MOST_GRACE_SECONDS = 7 * 24 * 3600
DIMENSION = re.compile(r"[a-z][a-z0-9_]{0,31}", re.ASCII)
DIMENSION_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
VALUE_RULE = "A value is 1 to 64 of A–Z, a–z, 0–9, '.', '_' and '-', beginning with a letter or digit."
TAKEN_SLUGS = ("players", "enter", "leave")  # by other pages of a game, at /g/{game}/…
TAKEN_RULE = "that address belongs to other pages of a game, and the mode would have none. Choose another name."
_TAKEN = {"global", "friends", "guild", "guilds"}  # scopes that are not dimensions


Aggregation = Literal["best", "sum", "latest"]
Order = Literal["desc", "asc"]
TieBreak = Literal["earliest", "latest", "none"]
Ranking = Literal["unique", "competition", "dense"]
Submit = Literal["trusted", "token", "open"]
NewValues = Literal["keys", "anyone"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one submission, scaled; None where the side is open."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class ModeRules:
    """Scores are scaled integers: 12.345 with three decimals is 12345."""

    aggregation: Aggregation = "best"
    order: Order = "desc"
    decimals: int = 0
    min_score: int | None = None
    max_score: int | None = None
    max_total: int | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    windows: tuple[str, ...] = tuple(kind.value for kind in windows.Kind)
    timezone: str = "UTC"
    grace_seconds: int = 3600
    tie_break: TieBreak = "earliest"
    ranking: Ranking = "unique"
    dimensions: tuple[str, ...] = PLAYERS_OWN
    dimension_values: int = 1000
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # declared, by dimension
    new_values: NewValues = "keys"  # who may bring values that are not declared
    submit: Submit = "trusted"

    def key_range(self) -> tuple[int | None, int | None]:
        """The range that an entry's score can take: of one submission, or for `sum` of the total."""
        if self.aggregation != "sum":
            return self.min_score, self.max_score
        return (0, self.max_total) if self.max_total is not None else (None, None)

    def most_total(self) -> int | None:
        """How far a total may go to either side and still be placed exactly; None where nothing is added up."""
        if self.aggregation != "sum":
            return None
        return encoding.MAX_RAW if self.max_total is None else self.max_total

    def tie_resolution_ms(self, kind: str) -> int | None:
        """How far apart two equal scores must be for time to decide; None where it never does."""
        return None if self.tie_break == "none" else encoding.tie_resolution_ms(kind, *self.key_range())


@dataclass(slots=True)
class Findings:
    errors: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def wrong(self, field_name: str, sentence: str) -> None:
        self.errors.setdefault(field_name, []).append(sentence)


def examine(rules: ModeRules) -> Findings:
    """What is wrong with the rules, each alone and all together, and what is merely unwise."""
    found = Findings()
    _examine_range(rules, found)
    _examine_windows(rules, found)
    _examine_dimensions(rules, found)
    _examine_values(rules, found)
    _examine_value_bounds(rules, found)
    if not found.errors:
        _examine_idle(rules, found)
        _examine_ties(rules, found)
    return found


def locked_changes(before: ModeRules, after: ModeRules) -> list[str]:
    return [name for name in LOCKED if getattr(before, name) != getattr(after, name)]


def _examine_range(rules: ModeRules, found: Findings) -> None:
    low, high = rules.min_score, rules.max_score
    if (low is None) != (high is None):
        found.wrong("min_score" if low is None else "max_score", "Give both min_score and max_score, or neither.")
    elif low is not None and high is not None and low >= high:
        found.wrong("max_score", "max_score must be greater than min_score.")
    if rules.max_total is None or rules.aggregation != "sum":
        return
    if low is None or low < 0:
        found.wrong("max_total", "A bounded total needs a min_score of 0 or more: it must not sink without end.")
    elif rules.max_total < (high or 0):
        found.wrong("max_total", "max_total must not be less than max_score.")


def _examine_windows(rules: ModeRules, found: Findings) -> None:
    if not rules.windows:
        found.wrong("windows", "A mode needs at least one window.")
    if len(set(rules.windows)) != len(rules.windows):
        found.wrong("windows", "A window is named twice.")
    for name in rules.windows:
        try:
            windows.kind_named(name)
        except ValueError as error:
            found.wrong("windows", str(error))
    try:
        windows.timezone_named(rules.timezone)
    except ValueError as error:
        found.wrong("timezone", str(error))


def _examine_dimensions(rules: ModeRules, found: Findings) -> None:
    if len(rules.dimensions) > MOST_DIMENSIONS:
        found.wrong("dimensions", f"A mode has at most {MOST_DIMENSIONS} dimensions.")
    if len(set(rules.dimensions)) != len(rules.dimensions):
        found.wrong("dimensions", "A dimension is named twice.")
    for name in rules.dimensions:
        if name in _TAKEN:
            found.wrong("dimensions", f"{name!r} is a scope of its own and cannot be a dimension.")
        elif not DIMENSION.fullmatch(name):
            found.wrong("dimensions", f"{name!r} is not a name: a–z, 0–9 and _, beginning with a letter, 32 at most.")


def _examine_values(rules: ModeRules, found: Findings) -> None:
    if sum(map(len, rules.values.values())) > MOST_DECLARED_VALUES:
        found.wrong(
            "values", f"A mode declares at most {MOST_DECLARED_VALUES:,} values, of all its dimensions together."
        )
    for name, values in rules.values.items():
        where = f"values.{name}"
        if name in PLAYERS_OWN:
            found.wrong(
                where, f"{name} comes from the player, not from the submission: its values are not declared here."
            )
        elif not DIMENSION.fullmatch(name) or name in _TAKEN:
            found.wrong(where, "Values are for a dimension that comes with the submission.")
        if not values:
            found.wrong(where, "Declare at least one value, or leave the dimension out.")
        if len(set(values)) != len(values):
            found.wrong(where, "A value is named twice.")
        if len(values) > rules.dimension_values:
            found.wrong(where, f"These are more values than dimension_values = {rules.dimension_values} allows.")
        if not all(map(DIMENSION_VALUE.fullmatch, values)):
            found.wrong(where, VALUE_RULE)


def _examine_value_bounds(rules: ModeRules, found: Findings) -> None:
    for scope, bounds in rules.bounds.items():
        dimension, _, value = scope.partition(":")
        where = f"bounds.{scope}"
        if dimension in PLAYERS_OWN or not DIMENSION.fullmatch(dimension):
            found.wrong(where, "Bounds are for a value of a dimension that comes with the submission.")
        elif not DIMENSION_VALUE.fullmatch(value):
            found.wrong(where, 'Name a value: "level:7".')
        if bounds.low is None and bounds.high is None:
            found.wrong(where, "Give min_score, max_score or both.")
        _examine_tighter(rules, bounds, where, found)


def _examine_tighter(rules: ModeRules, bounds: Bounds, where: str, found: Findings) -> None:
    low = rules.min_score if bounds.low is None else bounds.low
    high = rules.max_score if bounds.high is None else bounds.high
    if low is not None and high is not None and low > high:
        found.wrong(where, "max_score must not be less than min_score.")
    if (bounds.low is not None and rules.min_score is not None and bounds.low < rules.min_score) or (
        bounds.high is not None and rules.max_score is not None and bounds.high > rules.max_score
    ):
        found.wrong(where, "Bounds of a value may be tighter than the mode's, not wider.")


def _examine_idle(rules: ModeRules, found: Findings) -> None:
    """What is declared and never comes into play: kept, because a later change may give it a meaning."""
    if rules.max_total is not None and rules.aggregation != "sum":
        found.warnings.append('max_total has no effect: it bounds a total, which only aggregation = "sum" has.')
    for scope in rules.bounds:
        dimension, _, value = scope.partition(":")
        if dimension not in rules.dimensions:
            found.warnings.append(f"The bounds of {scope} have no effect: {dimension!r} is not one of the dimensions.")
        elif value not in rules.values.get(dimension, (value,)):
            found.warnings.append(f"The bounds of {scope} have no effect: {value!r} is not one of the declared values.")
    for dimension in rules.values:
        if dimension not in rules.dimensions:
            found.warnings.append(f"The values of {dimension} have no effect: it is not one of the dimensions.")
    if rules.new_values == "anyone" and rules.submit == "trusted":
        found.warnings.append(
            'new_values = "anyone" has no effect: only keys submit to a mode with submit = "trusted".'
        )


def _examine_ties(rules: ModeRules, found: Findings) -> None:
    if rules.tie_break == "none":
        return
    low, high = rules.key_range()
    if low is None or high is None:
        needed = "max_total" if rules.aggregation == "sum" else "min_score and max_score"
        found.warnings.append(f"Without {needed}, equal scores are ordered by player, not by time.")
    elif encoding.tie_bits(low, high) <= 0:
        found.warnings.append(
            "The range of scores is so wide that no bits are left for ties: "
            "equal scores are ordered by player, not by time. A narrower range or fewer decimals would change that."
        )
