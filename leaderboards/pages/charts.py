"""Charts for profiles, drawn here: no script, and colours that the style sheet has for light and dark.

Whoever cannot see one is told it in its label, and has the same numbers in a table beside it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH, _HEIGHT = 360, 150
_SIDE, _TOP, _BOTTOM = 5, 24, 20  # around what is drawn
_GAP = 1.5  # between bars


class Point(NamedTuple):
    at: datetime
    value: float
    words: str


class Line(NamedTuple):
    """What is drawn over time: the line itself, and dots beside or on it."""

    points: Sequence[Point]
    dots: Sequence[Point]
    stepped: bool  # holds its value until the next, as a best does


class Bar(NamedTuple):
    value: int
    words: str


class Words(NamedTuple):
    """What is written into a chart: all of it in a sentence, the two ends of its time, and how far it reaches."""

    label: str
    first: str
    last: str
    reach: str


def line(drawn: Line, words: Words, *, since: datetime, until: datetime) -> SafeString:
    """To the right end of it: what was best last is best now."""
    every = [*drawn.points, *drawn.dots]
    values = [point.value for point in every]
    low, high, span = min(values), max(values), (until - since).total_seconds() or 1.0

    def spot(point: Point) -> tuple[float, float]:
        up = (point.value - low) / (high - low) if high > low else 0.5
        return _across((point.at - since).total_seconds() / span), _down(up)

    path, ground = _path([spot(point) for point in drawn.points], stepped=drawn.stepped), _down(0)
    first, end = spot(drawn.points[0])[0], _across(1)
    dots = [(f"{x:.1f}", f"{y:.1f}", dot.words) for dot in drawn.dots for x, y in [spot(dot)]]
    return _framed(
        words,
        format_html('<path class="area" d="{}V{}H{}Z"></path>', path, f"{ground:.1f}", f"{first:.1f}")
        + format_html('<path class="line" d="{}"></path>', path)
        + format_html_join("", '<circle class="dot" cx="{}" cy="{}" r="3.5"><title>{}</title></circle>', dots),
        level=f"{end:.0f}",
    )


def bars(drawn: Sequence[Bar], words: Words) -> SafeString:
    most, room = max(bar.value for bar in drawn) or 1, (_WIDTH - 2 * _SIDE) / len(drawn)
    rects = [
        (f"{_SIDE + n * room + _GAP / 2:.1f}", f"{_down(bar.value / most):.1f}", f"{room - _GAP:.1f}",
         f"{_down(0) - _down(bar.value / most):.1f}", bar.words)
        for n, bar in enumerate(drawn) if bar.value
    ]  # fmt: skip
    rect = '<rect class="bar" x="{}" y="{}" width="{}" height="{}" rx="1.5"><title>{}</title></rect>'
    return _framed(words, format_html_join("", rect, rects), level=f"{_WIDTH - _SIDE}")


def _path(spots: Sequence[tuple[float, float]], *, stepped: bool) -> str:
    (x, y), *rest = spots
    drawn = f"M{x:.1f} {y:.1f}"
    for x, y in rest:
        drawn += f"H{x:.1f}V{y:.1f}" if stepped else f"L{x:.1f} {y:.1f}"
    return f"{drawn}H{_across(1):.1f}"


def _framed(words: Words, drawn: SafeString, *, level: str) -> SafeString:
    ground = _down(0)
    return format_html(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<path class="grid" d="M{} {}H{}M{} {}H{}"></path>{}'
        '<text class="tick" x="{}" y="14">{}</text>'
        '<text class="tick" x="{}" y="{}">{}</text><text class="tick end" x="{}" y="{}">{}</text></svg>',
        *(_WIDTH, _HEIGHT, words.label),
        *(_SIDE, _TOP, level, _SIDE, ground, level, drawn),
        *(_SIDE, words.reach, _SIDE, _HEIGHT - 5, words.first, _WIDTH - _SIDE, _HEIGHT - 5, words.last),
    )


def _across(share: float) -> float:
    return _SIDE + share * (_WIDTH - 2 * _SIDE)


def _down(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)
