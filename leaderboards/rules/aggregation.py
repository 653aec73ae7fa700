"""How a player's attempts become one score: best, sum, latest. Pure; times are microseconds since 1970."""

from typing import NamedTuple

from leaderboards.rules.mode import ModeRules


class Told(NamedTuple):
    """One attempt, or what a player's attempts amount to, as far as aggregation cares."""

    score: int
    at: int
    attempt: int
    received: int = 0  # when the attempt arrived


def fold(rules: ModeRules, before: Told | None, after: Told) -> Told:
    """The score that stands once `after` has been told too. In whatever order attempts come, the end is the same."""
    if before is None:
        return after
    if rules.aggregation == "sum":
        last = max((before.attempt, before.received), (after.attempt, after.received))
        return Told(before.score + after.score, max(before.at, after.at), *last)
    if rules.aggregation == "latest":
        return max(before, after, key=lambda told: (told.at, told.attempt))
    return max(before, after, key=lambda told: _merit(rules, told))


def _merit(rules: ModeRules, told: Told) -> tuple[int, int, int]:
    """Better score first, then the time that the tie-break prefers, then the attempt logged first."""
    key = told.score if rules.order == "desc" else -told.score
    time = {"earliest": -told.at, "latest": told.at, "none": 0}[rules.tie_break]
    return key, time, -told.attempt
