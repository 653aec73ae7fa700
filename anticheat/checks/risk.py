"""How much a finding weighs, from how far it is beyond what is believable; and several together."""

from collections.abc import Iterable
from math import prod


def risk_of(times: float) -> float:
    """A half where the limit is just passed; the further beyond, the nearer to one. `times` the limit, 1 or more."""
    return 1 - 0.5 / max(1.0, times)


def innocence(risks: Iterable[float]) -> float:
    """What is left of it when each of these may be wrong by itself."""
    return prod(1 - risk for risk in risks)
