"""What shows only in attempts one after the other: judged over the log (`rejudge`), never while somebody waits."""

from collections.abc import Mapping
from typing import Any, Protocol

from anticheat.checks.risk import risk_of
from anticheat.trail import Trail
from anticheat.tuning import Tuning
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class Habit(Protocol):
    """One of settings.LOG_CHECKS, for one mode. Looks at a trail whose latest attempt has just been added."""

    name: str

    def __init__(self, mode: Mode) -> None: ...

    def look(self, trail: Trail) -> Verdict | None: ...


class Tuned(Protocol):
    name: str

    @property
    def tuned(self) -> Tuning: ...


def habit_verdict(check: Tuned, times: float, reason: str, details: Mapping[str, Any]) -> Verdict:
    """`times` the limit, 1 or more."""
    weight = check.tuned.weight
    return Verdict(check=check.name, weight=weight, reason=reason, risk=risk_of(times), details=details)
