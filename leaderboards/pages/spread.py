"""How a board's scores are spread, drawn: bars of equal width, from what /distribution tells, and your place in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from leaderboards.boards.board import Board
from leaderboards.estimates import distribution_state
from leaderboards.pages import numbers
from leaderboards.wire_estimates import BucketState

WIDTH, HEIGHT = 400, 120  # of the drawing, in units of its own
_MOST_BARS = 36
_FEWEST = 3  # players, of whom a drawing tells something
_FINE = 400  # buckets that the bars are made of
_GAP = 1.5
_LEAST_HEIGHT = 2.0
Score = Decimal | int


@dataclass(frozen=True, slots=True)
class Bar:
    x: str
    y: str
    width: str
    height: str
    mine: bool


@dataclass(frozen=True, slots=True)
class Spread:
    bars: list[Bar]
    least: str
    middle: str
    most: str
    you: str | None  # where your score is, across
    middle_x: str


def spread(board: Board, *, own: Score | None) -> Spread | None:
    """None where there are too few to draw."""
    told = distribution_state(board, buckets=_FINE)
    if told.total < _FEWEST or not told.buckets:
        return None
    low, high = told.buckets[0].from_, told.buckets[-1].to
    counts = _counts(told.buckets, float(low), float(high))
    middle = _middle(told.buckets, told.total)
    mine = None if own is None else _share(float(own), float(low), float(high))
    return Spread(
        bars=_bars(counts, mine),
        least=numbers.score_text(low, board.rules.decimals),
        middle=numbers.score_text(middle, board.rules.decimals),
        most=numbers.score_text(high, board.rules.decimals),
        you=None if mine is None else _number(mine * WIDTH),
        middle_x=_number(_share(float(middle), float(low), float(high)) * WIDTH),
    )


def _share(value: float, low: float, high: float) -> float:
    return 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))


def _counts(buckets: Sequence[BucketState], low: float, high: float) -> list[float]:
    """A bucket's players are spread evenly over what it reaches across."""
    counts = [0.0] * _MOST_BARS
    for bucket in buckets:
        first, last = (_share(float(end), low, high) * _MOST_BARS for end in (bucket.from_, bucket.to))
        here = range(int(first), min(int(last), _MOST_BARS - 1) + 1) or [_MOST_BARS - 1]
        for index in here:
            covered = min(last, index + 1) - max(first, index)
            counts[index] += bucket.count * (covered / (last - first) if last > first else 1 / len(here))
    return counts


def _middle(buckets: Sequence[BucketState], total: int) -> Score:
    """The score that half of the players have, or less."""
    passed = 0
    for bucket in buckets:
        passed += bucket.count
        if 2 * passed >= total:
            return bucket.from_ if bucket.count == 1 else bucket.to
    return buckets[-1].to


def _bars(counts: Sequence[float], mine: float | None) -> list[Bar]:
    step, tallest = WIDTH / len(counts), max(counts) or 1.0
    own = None if mine is None else min(int(mine * len(counts)), len(counts) - 1)
    heights = [max(_LEAST_HEIGHT, count / tallest * HEIGHT) if count else 0.0 for count in counts]
    return [
        Bar(
            _number(index * step + _GAP / 2),
            _number(HEIGHT - height),
            _number(step - _GAP),
            _number(height),
            index == own,
        )
        for index, height in enumerate(heights)
        if height
    ]


def _number(value: float) -> str:
    """As SVG reads it, whatever the page's language writes."""
    return f"{value:.1f}"
