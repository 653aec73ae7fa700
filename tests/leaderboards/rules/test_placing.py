"""A place orders entries as the mode says, and tells its score exactly."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.rules.encoding import MAX_RAW
from leaderboards.rules.instants import micros
from leaderboards.rules.mode import ModeRules, Order, TieBreak
from leaderboards.rules.placing import Placing, dense_width, placing
from leaderboards.rules.windows import Window, timezone_named, window_by_id

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
BERLIN = timezone_named("Europe/Berlin")
WINDOWS = [window_by_id(name, BERLIN) for name in ("daily:2026-10-25", "weekly:2026-W53", "monthly:2026-04", "alltime")]
RAW = st.integers(-MAX_RAW, MAX_RAW)
Range = tuple[int, int] | None
RANGES: st.SearchStrategy[Range] = st.one_of(
    st.none(),
    st.tuples(RAW, st.integers(1, 10**6)).map(
        lambda one: (min(one[0], MAX_RAW - one[1]), min(one[0] + one[1], MAX_RAW))
    ),
    st.tuples(RAW, RAW).filter(lambda one: one[0] != one[1]).map(lambda one: (min(one), max(one))),
)
ORDERS: st.SearchStrategy[Order] = st.sampled_from(["desc", "asc"])
TIES: st.SearchStrategy[TieBreak] = st.sampled_from(["earliest", "latest", "none"])


def start_of(window: Window) -> datetime:
    return window.starts_at or EPOCH


@st.composite
def boards(draw: st.DrawFn) -> tuple[ModeRules, Window, Placing, st.SearchStrategy[tuple[int, datetime]]]:
    """A mode's encoding of a window, and the entries that it may have to hold."""
    low, high = draw(RANGES) or (None, None)
    rules = ModeRules(order=draw(ORDERS), tie_break=draw(TIES), min_score=low, max_score=high)
    window = draw(st.sampled_from(WINDOWS))
    begins, ends = start_of(window), window.ends_at or EPOCH + timedelta(days=3653)
    times = st.datetimes(begins.replace(tzinfo=None), (ends - timedelta(microseconds=1)).replace(tzinfo=None))
    scores = st.integers(-MAX_RAW if low is None else low, MAX_RAW if high is None else high)
    entries = st.tuples(scores, times.map(lambda at: at.replace(tzinfo=UTC)))
    return rules, window, placing(rules, window, epoch=EPOCH), entries


@given(boards(), st.data())
def test_a_place_is_whole_within_a_double_and_tells_its_score_exactly(board: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    _, _, encoding, entries = board
    score, at = data.draw(entries)
    place = encoding.place(score, micros(at))
    assert abs(place) <= MAX_RAW
    assert int(float(place)) == place
    assert encoding.score(place) == score
    least, greatest = encoding.places_of(score)
    assert least <= place <= greatest


@given(boards())
def test_a_key_has_the_same_number_of_places_in_every_window(board: tuple) -> None:  # type: ignore[type-arg]
    rules, _, encoding, _ = board
    least, greatest = encoding.places_of(encoding.base)
    assert dense_width(replace(rules, ranking="dense")) == greatest - least + 1
    assert dense_width(rules) == 0


@given(boards(), st.data())
def test_places_are_in_the_order_of_scores_then_times(board: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    rules, _, encoding, entries = board
    one, other = data.draw(entries), data.draw(entries)
    if data.draw(st.booleans()):
        other = (one[0], other[1])
    first, second = (encoding.place(score, micros(at)) for score, at in (one, other))
    if one[0] != other[0]:
        assert (first > second) is ((one[0] > other[0]) is (rules.order == "desc"))
        return
    if not encoding.bits:
        assert first == second
        return
    winner, loser = (first, second) if (one[1] < other[1]) is (rules.tie_break == "earliest") else (second, first)
    if one[1] != other[1]:
        assert winner >= loser
    if abs(one[1] - other[1]) >= timedelta(microseconds=encoding.step_us):
        assert winner > loser, "what is a step apart is told apart"


@given(boards(), st.data())
def test_a_place_tells_its_time_to_one_step(board: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    _, _, encoding, entries = board
    score, at = data.draw(entries)
    told = encoding.achieved_at(encoding.place(score, micros(at)))
    if encoding.bits:
        assert timedelta(0) <= at - told < timedelta(microseconds=encoding.step_us)
    else:
        assert told is None


@given(boards(), st.data(), st.integers(-(10**15), 10**15), st.integers(0, 10**15))
def test_times_outside_the_window_never_change_the_order(
    board: tuple,  # type: ignore[type-arg]
    data: st.DataObject,
    offset: int,
    later: int,
) -> None:
    rules, window, encoding, entries = board
    score, _ = data.draw(entries)
    at = int(start_of(window).timestamp()) * 1_000_000 + offset
    first, second = encoding.place(score, at), encoding.place(score, at + later)
    assert encoding.score(first) == encoding.score(second) == score
    assert first >= second if rules.tie_break == "earliest" else first <= second


@given(boards(), st.lists(st.integers(-(2**63), 2**63), min_size=2, max_size=2), st.integers(0, 10**9))
def test_scores_outside_the_range_stay_in_order_within_a_double(board: tuple, scores: list[int], after: int) -> None:  # type: ignore[type-arg]
    """A total without bound, or one logged before the range was made narrower, must stop no stream."""
    rules, window, encoding, _ = board
    worse, better = sorted(scores, reverse=rules.order == "asc")
    at = int(start_of(window).timestamp()) * 1_000_000 + after
    assert -MAX_RAW <= encoding.place(worse, at) <= encoding.place(better, at) <= MAX_RAW


def test_the_resolution_is_the_one_that_a_mode_shows() -> None:
    rules = ModeRules(min_score=0, max_score=2**31 - 1)
    day = placing(rules, window_by_id("daily:2026-04-05", timezone_named("UTC")), epoch=EPOCH)
    assert day.bits == 22
    shown = rules.tie_resolution_ms("daily")
    assert shown is not None
    assert day.step_us <= shown * 1000


@pytest.mark.parametrize("tie_break", ["earliest", "latest"])
def test_the_widest_range_leaves_no_bit_and_loses_no_score(tie_break: TieBreak) -> None:
    rules = ModeRules(min_score=-MAX_RAW, max_score=MAX_RAW, order="asc", tie_break=tie_break)
    encoding = placing(rules, WINDOWS[-1], epoch=EPOCH)
    for score in (-MAX_RAW, -MAX_RAW + 1, 0, MAX_RAW - 1, MAX_RAW):
        place = encoding.place(score, micros(EPOCH))
        assert encoding.score(int(float(place))) == score


@given(boards(), st.data())
def test_many_are_placed_as_each_would_be(board: tuple, data: st.DataObject) -> None:  # type: ignore[type-arg]
    _, _, encoding, _ = board
    scores, ats = data.draw(st.lists(RAW, max_size=5)), data.draw(st.lists(st.integers(-(10**15), 10**16), max_size=5))
    several = list(zip(scores, ats, strict=False))
    places = encoding.places([score for score, _ in several], [at for _, at in several])
    assert places == [encoding.place(score, at) for score, at in several]
