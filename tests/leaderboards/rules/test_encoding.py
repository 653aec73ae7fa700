"""Scores are exact, and what a range leaves of 53 bits is shown as the time it can tell apart."""

import time
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.rules.encoding import (
    MAX_RAW,
    TieBudget,
    bits_for_range,
    scale,
    tie_bits,
    tie_budget,
    tie_resolution_ms,
    unscale,
)
from leaderboards.rules.windows import Kind, timezone_named, window_by_id

RAW = st.integers(-MAX_RAW, MAX_RAW)
DECIMALS = st.integers(0, 6)
HOUR_MS = 3_600_000


@given(RAW, DECIMALS)
def test_a_score_survives_the_way_there_and_back(raw: int, decimals: int) -> None:
    score = unscale(raw, decimals)
    assert scale(score, decimals) == raw
    assert scale(Decimal(str(score)), decimals) == raw
    with localcontext(prec=1):
        assert scale(unscale(raw, decimals), decimals) == raw


@given(RAW, DECIMALS)
def test_a_score_is_written_with_exactly_its_decimals(raw: int, decimals: int) -> None:
    whole, point, fraction = str(unscale(raw, decimals)).partition(".")
    assert whole.removeprefix("-").isdecimal()
    assert len(fraction) == decimals
    assert bool(point) == bool(decimals)


@given(RAW, RAW, DECIMALS)
def test_raw_scores_are_ordered_as_scores_are(one: int, other: int, decimals: int) -> None:
    assert (one < other) == (unscale(one, decimals) < unscale(other, decimals))


@given(st.decimals(), DECIMALS)
def test_any_decimal_is_taken_exactly_or_refused(score: Decimal, decimals: int) -> None:
    try:
        raw = scale(score, decimals)
    except ValueError:
        return
    assert unscale(raw, decimals) == score
    assert abs(raw) <= MAX_RAW


@pytest.mark.parametrize(
    "score", [984200, Decimal(984200), Decimal("984200.0"), Decimal("9.842E+5"), Decimal("984200.000000000")]
)
def test_a_score_is_the_same_however_it_is_written(score: Decimal | int) -> None:
    assert scale(score, 0) == 984200
    assert scale(score, 3) == 984200000


def test_zero_has_no_sign_and_no_size() -> None:
    for zero in ("0", "-0", "0.00000000", "0e999999", "0e-999999"):
        assert scale(Decimal(zero), 2) == 0
    assert [str(unscale(0, decimals)) for decimals in (0, 2, 6)] == ["0", "0.00", "0.000000"]
    assert str(unscale(-5, 3)) == "-0.005"


@pytest.mark.parametrize(
    ("score", "decimals", "sentence"),
    [
        (Decimal("0.1"), 0, "at most 0 decimals"),
        (Decimal("12.3456"), 3, "at most 3 decimals"),
        (Decimal("1e-7"), 6, "at most 6 decimals"),
        (Decimal("1e-999999"), 6, "at most 6 decimals"),
        (Decimal("0.009"), 2, "at most 2 decimals"),
        (Decimal("NaN"), 0, "finite"),
        (Decimal("sNaN"), 0, "finite"),
        (Decimal("Infinity"), 0, "finite"),
        (Decimal("-Infinity"), 0, "finite"),
        (Decimal(MAX_RAW + 1), 0, "at most ±9007199254740992 here"),
        (Decimal(-MAX_RAW - 1), 0, "at most"),
        (MAX_RAW + 1, 0, "at most"),
        (-MAX_RAW - 1, 0, "at most"),
        (2**63, 0, "at most"),
        (MAX_RAW, 1, "at most ±900719925474099.2 here"),
        (Decimal("1e400"), 0, "at most"),
        (Decimal("1e999999"), 0, "at most"),
        (Decimal("-1e999999"), 6, "at most"),
        (1, 7, "0 to 6 decimals"),
        (1, -1, "0 to 6 decimals"),
    ],
)
def test_a_score_that_would_not_be_exact_is_refused(score: Decimal | int, decimals: int, sentence: str) -> None:
    began = time.thread_time()
    with pytest.raises(ValueError, match=sentence):
        scale(score, decimals)
    assert time.thread_time() - began < 0.1, "of its own: others may have the machine meanwhile"


def test_the_largest_scores_are_taken() -> None:
    assert scale(MAX_RAW, 0) == scale(Decimal(MAX_RAW), 0) == MAX_RAW
    assert scale(Decimal("-9007199254.740992"), 6) == -MAX_RAW


@pytest.mark.parametrize(
    ("low", "high", "bits"),
    [(0, 0, 0), (0, 1, 1), (1, 2, 1), (0, 2, 2), (0, 1_000_000, 20), (-4, 3, 3), (0, 2**31 - 1, 31)],
)
def test_a_range_takes_as_many_bits_as_it_has_scores(low: int, high: int, bits: int) -> None:
    assert bits_for_range(low, high) == bits
    assert tie_bits(low, high) == 53 - bits


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        bits_for_range(1, 0)


@given(st.lists(RAW, min_size=2, max_size=2).map(sorted))
def test_key_and_tie_fit_a_double_together(bounds: list[int]) -> None:
    low, high = bounds
    bits = tie_bits(low, high)
    greatest = ((high - low) << bits) + (1 << bits) - 1
    assert bits == 0 or greatest < MAX_RAW
    assert bits == 0 or (high - low + 1) << (bits + 1) > MAX_RAW // 2  # and no bit is left unused


def test_a_31_bit_range_tells_apart_what_the_design_says() -> None:
    daily, ever = tie_resolution_ms("daily", 0, 2**31 - 1), tie_resolution_ms("alltime", 0, 2**31 - 1)
    assert daily == 21  # 20.6, rounded up
    assert ever is not None
    assert ever // 1000 == 75


@pytest.mark.parametrize("kind", list(Kind))
def test_no_range_and_too_wide_a_range_leave_no_time(kind: Kind) -> None:
    assert tie_resolution_ms(kind, None, None) is None
    assert tie_resolution_ms(kind, 0, MAX_RAW - 1) is None
    assert tie_resolution_ms(kind, -MAX_RAW, MAX_RAW) is None
    assert tie_resolution_ms(kind, 0, MAX_RAW // 2 - 1) is not None


def test_a_small_range_still_resolves_one_millisecond_and_no_less() -> None:
    assert tie_resolution_ms("daily", 0, 1000) == 1
    assert tie_resolution_ms("alltime", 0, 1) == 1


@given(st.integers(1, 53), st.integers(0, 10**12))
def test_the_steps_cover_the_whole_span_and_none_is_wider_than_needed(bits: int, span_ms: int) -> None:
    step = TieBudget(bits, span_ms).resolution_ms
    assert step << bits >= span_ms
    assert step == 1 or (step - 1) << bits < span_ms


def test_a_long_day_keeps_its_ties_until_the_end() -> None:
    zone = timezone_named("Europe/Berlin")
    spans = {}
    for day in ("2026-10-24", "2026-10-25", "2026-03-29"):
        budget = tie_budget(window_by_id(f"daily:{day}", zone), 0, 2**31 - 1)
        assert budget is not None
        spans[day] = (budget.span_ms // HOUR_MS, budget.resolution_ms)
    assert spans == {"2026-10-24": (24, 21), "2026-10-25": (25, 22), "2026-03-29": (23, 20)}


def test_a_window_has_the_budget_that_its_kind_announces() -> None:
    zone = timezone_named("UTC")
    for window_id in ("daily:2026-04-05", "weekly:2026-W14", "monthly:2026-05", "alltime"):
        window = window_by_id(window_id, zone)
        budget = tie_budget(window, 0, 2**31 - 1)
        assert budget is not None
        assert budget.resolution_ms == tie_resolution_ms(window.kind, 0, 2**31 - 1)
        assert tie_budget(window, None, None) is None


def test_a_day_that_was_skipped_still_has_a_budget() -> None:
    skipped = window_by_id("daily:2011-12-30", timezone_named("Pacific/Apia"))
    assert tie_budget(skipped, 0, 1) == TieBudget(52, 0)
    assert TieBudget(52, 0).resolution_ms == 1
