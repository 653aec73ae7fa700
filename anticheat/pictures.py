"""Pictures for who decides, drawn here: no script, no file, and colours that the style sheet has for light and dark."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH, _HEIGHT = 720, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 16, 22  # around what is drawn


class Dot(NamedTuple):
    """An attempt: when, how much, what became of it, whether a check said something, and all that in words."""

    at: datetime
    score: float
    kind: str
    found: bool
    words: str


class Bar(NamedTuple):
    members: int
    words: str


class Mark(NamedTuple):
    """A score, from 0 for the left end of the bars to 1 for their right end."""

    where: float
    kind: str
    words: str


def history(dots: Sequence[Dot], *, label: str) -> SafeString:
    """Attempts over time."""
    if not dots:
        return SafeString("")
    first, last = min(dot.at for dot in dots), max(dot.at for dot in dots)
    least, most = min(dot.score for dot in dots), max(dot.score for dot in dots)
    span = (last - first).total_seconds()
    drawn = []
    for dot in sorted(dots, key=lambda one: one.found):  # what was found lies on top
        x = _across((dot.at - first).total_seconds() / span if span else 0.5)
        y = _down((dot.score - least) / (most - least) if most > least else 0.5)
        kind = f"dot {dot.kind}{' found' if dot.found else ''}"
        drawn.append((kind, f"{x:.1f}", f"{y:.1f}", 6 if dot.found else 4, dot.words))
    dots_drawn = format_html_join("", '<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>', drawn)
    best = format_html('<text class="end" x="{}" y="11">{}</text>', _LEFT, f"{most:.10g}")
    return _framed(label, best + dots_drawn, f"{first:%Y-%m-%d %H:%M}", f"{last:%Y-%m-%d %H:%M} UTC")


def distribution(bars: Sequence[Bar], marks: Sequence[Mark], *, ends: tuple[str, str], label: str) -> SafeString:
    """How many have which score. By the square root, so that few beside many can be seen."""
    if not bars:
        return SafeString("")
    tallest = max(bar.members for bar in bars) ** 0.5 or 1
    room = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    drawn = [
        (f"{_across(n / len(bars)) + 0.5:.1f}", f"{_down(bar.members**0.5 / tallest):.1f}", f"{room - 1:.1f}",
         f"{_down(0) - _down(bar.members**0.5 / tallest):.1f}", bar.words)
        for n, bar in enumerate(bars) if bar.members
    ]  # fmt: skip
    bars_drawn = format_html_join(
        "", '<rect class="bar" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>', drawn
    )
    lines = [(mark.kind, x := f"{_across(mark.where):.1f}", x, _TOP - 10, _down(0), mark.words) for mark in marks]
    marks_drawn = format_html_join(
        "", '<line class="mark {}" x1="{}" x2="{}" y1="{}" y2="{}"><title>{}</title></line>', lines
    )
    return _framed(label, bars_drawn + marks_drawn, *ends)


def _framed(label: str, drawn: SafeString, left: str, right: str) -> SafeString:
    return format_html(
        '<svg class="picture" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<line class="ground" x1="{}" x2="{}" y1="{}" y2="{}"></line>{}'
        '<text class="end" x="{}" y="{}">{}</text><text class="end right" x="{}" y="{}">{}</text></svg>',
        _WIDTH, _HEIGHT, label, _LEFT, _WIDTH - _RIGHT, _down(0), _down(0), drawn,
        _LEFT, _HEIGHT - 5, left, _WIDTH - _RIGHT, _HEIGHT - 5, right,
    )  # fmt: skip


def _across(share: float) -> float:
    return _LEFT + min(max(share, 0.0), 1.0) * (_WIDTH - _LEFT - _RIGHT)


def _down(share: float) -> float:
    return _HEIGHT - _BOTTOM - min(max(share, 0.0), 1.0) * (_HEIGHT - _BOTTOM - _TOP)
