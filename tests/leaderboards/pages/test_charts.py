"""Charts: whatever is drawn lies inside the picture, and whatever is written is text."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.pages import charts
from leaderboards.pages.charts import Bar, Line, Point, Words

BEGAN = datetime(2026, 4, 5, tzinfo=UTC)
ENDED = BEGAN + timedelta(days=90)
WORDS = Words('"><script>alert(1)</script>', "5 April", "now", "<b>9</b>")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def _numbers(svg: str) -> list[tuple[str, float]]:
    """Every number that something is drawn with, by its attribute."""
    root = ET.fromstring(svg)  # noqa: S314 - we wrote it; that it is well-formed is half of the test
    return [
        (name, float(number))
        for element in root.iter()
        for name, value in element.attrib.items()
        if name in {"d", "x", "y", "cx", "cy"}
        for number in _NUMBER.findall(value)
    ]


def _lies_inside(svg: str) -> bool:
    return all(0 <= number <= 360 for _, number in _numbers(svg))


play = st.tuples(st.integers(0, 90 * 86_400), st.integers(-(2**53), 2**53))


@given(plays=st.lists(play, min_size=1, max_size=20), stepped=st.booleans())
def test_a_line_stays_inside_its_picture(plays: list[tuple[int, int]], stepped: bool) -> None:
    points = [Point(BEGAN + timedelta(seconds=at), score, "<i>") for at, score in sorted(plays)]
    svg = charts.line(Line(points, points[::2], stepped), WORDS, since=BEGAN, until=ENDED)
    assert _lies_inside(svg)
    assert svg.count("<circle") == len(points[::2])


@given(counts=st.lists(st.integers(0, 10**9), min_size=1, max_size=60))
def test_bars_stay_inside_their_picture(counts: list[int]) -> None:
    svg = charts.bars([Bar(count, str(count)) for count in counts], WORDS)
    assert _lies_inside(svg)
    assert svg.count("<rect") == sum(count > 0 for count in counts)


@pytest.mark.parametrize("at", [BEGAN, ENDED])
def test_one_score_is_a_line_too_whenever_it_was(at: datetime) -> None:
    svg = charts.line(Line([Point(at, 5, "5")], [], stepped=True), WORDS, since=at, until=at)
    assert _lies_inside(svg)


def test_what_is_written_is_text() -> None:
    svg = charts.bars([Bar(1, "<script>alert(2)</script>")], WORDS)
    assert "<script" not in svg
    root = ET.fromstring(svg)  # noqa: S314 - as above
    assert root.attrib["aria-label"] == WORDS.label
    assert "<b>9</b>" in {element.text for element in root.iter()}
    assert "style" not in root.attrib
