"""How a score becomes a number that a sorted set orders: exact integers, and the bits that remain for ties.

A sorted set's score is a double, exact for 53 bits and no more. The key takes as many as the declared range of raw
scores needs, the rest hold the time since the window began. A raw score is the decimal score as an integer, in units
of its last decimal.
"""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from leaderboards.rules.windows import ORDINARY_SPAN, Window, kind_named

DOUBLE_BITS: Final = 53
MAX_RAW: Final = 2**DOUBLE_BITS
MAX_DECIMALS: Final = 6

_MILLISECOND: Final = timedelta(milliseconds=1)
_MAX_EXPONENT: Final = len(str(MAX_RAW)) - 1


@dataclass(frozen=True, slots=True)
class TieBudget:
    """The bits left for ties, and the time that they have to tell apart."""

    bits: int
    span_ms: int

    @property
    def resolution_ms(self) -> int:
        """The width of one step: whole milliseconds, rounded up so that the steps cover the whole span."""
        return max(1, -(-self.span_ms >> self.bits))


def bits_for_range(low: int, high: int) -> int:
    if low > high:
        raise ValueError(f"A range from {low} to {high} is empty.")
    return (high - low).bit_length()


def tie_bits(low: int | None, high: int | None) -> int:
    """0 where no range is declared: the key is then the exact score, and takes all there is."""
    if low is None or high is None:
        return 0
    return max(0, DOUBLE_BITS - bits_for_range(low, high))


def tie_budget(window: Window, low: int | None, high: int | None) -> TieBudget | None:
    """What this very window has for ties; None where there is no bit for them."""
    bits = tie_bits(low, high)
    if not bits:
        return None
    if window.starts_at is None or window.ends_at is None:
        return TieBudget(bits, ORDINARY_SPAN[window.kind] // _MILLISECOND)
    return TieBudget(bits, -((window.starts_at - window.ends_at) // _MILLISECOND))


def tie_resolution_ms(kind: str, low: int | None, high: int | None) -> int | None:
    """How close two equal scores may be and still be told apart, in an ordinary window of this kind."""
    span_ms = ORDINARY_SPAN[kind_named(kind)] // _MILLISECOND
    bits = tie_bits(low, high)
    return TieBudget(bits, span_ms).resolution_ms if bits else None


def scale(score: Decimal | int, decimals: int) -> int:
    """The raw score, exactly, or a ValueError: 984200 and 984200.0 are the same, and nothing is ever rounded."""
    unit: int = 10 ** _checked(decimals)
    if isinstance(score, int):
        if abs(score) > MAX_RAW // unit:
            raise _too_large(decimals)
        return score * unit
    if not score.is_finite():
        raise ValueError("A score is a finite number.")
    if not decimals and score.adjusted() < _MAX_EXPONENT and (whole := int(score)) == score:
        return whole  # as most are
    if not score:
        return 0
    # Judged by the exponent first, so that 1e999999 costs nothing: what passes has 16 digits at most.
    if score.adjusted() + decimals > _MAX_EXPONENT:
        raise _too_large(decimals)
    sign, digits, _ = score.as_tuple()
    places = score.adjusted() + decimals + 1
    if places <= 0 or any(digits[places:]):
        raise ValueError(f"A score has at most {decimals} decimals here.")
    raw = int("".join(map(str, digits[:places])).ljust(places, "0"))
    if raw > MAX_RAW:
        raise _too_large(decimals)
    return -raw if sign else raw


def unscale(raw: int, decimals: int) -> Decimal | int:
    """The score with exactly that many decimals. Its `str` never has an exponent."""
    return Decimal(f"{raw}e-{_checked(decimals)}") if decimals else raw


def _checked(decimals: int) -> int:
    if not 0 <= decimals <= MAX_DECIMALS:
        raise ValueError(f"A mode has 0 to {MAX_DECIMALS} decimals.")
    return decimals


def _too_large(decimals: int) -> ValueError:
    return ValueError(f"A score is at most ±{unscale(MAX_RAW, decimals)} here, so that it stays exact.")
