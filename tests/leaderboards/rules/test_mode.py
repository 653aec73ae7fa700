"""Rules fit together or are refused together; what is merely unwise is a warning."""

from typing import Any

import pytest

from leaderboards.rules.encoding import MAX_RAW
from leaderboards.rules.mode import Bounds, ModeRules, examine, locked_changes


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"min_score": 0, "max_score": 1},
        {"min_score": -MAX_RAW, "max_score": MAX_RAW},
        {"aggregation": "sum", "min_score": 0, "max_score": 10, "max_total": 10},
        {"aggregation": "sum"},
        {"aggregation": "best", "min_score": 0, "max_score": 10, "max_total": 5},
        {"windows": ("alltime",)},
        {"dimensions": ()},
        {"dimensions": ("level",), "bounds": {"level:7": Bounds(high=5)}},
        {"dimensions": ("level",), "min_score": 0, "max_score": 9, "bounds": {"level:a.B-1": Bounds(low=0, high=9)}},
        {"dimensions": ("level",), "min_score": 0, "max_score": 9, "bounds": {"level:7": Bounds(low=5, high=5)}},
        {"bounds": {"level:7": Bounds(high=5)}},
        {"dimensions": ("level",), "values": {"level": ("1", "a.B-2")}},
        {"dimensions": ("level",), "values": {"level": ("1", "2")}, "dimension_values": 2},
        {"values": {"level": ("1",)}},
        {"timezone": "America/Argentina/Buenos_Aires"},
        {"dimensions": tuple("abcdefgh")},
    ],
)
def test_what_fits_together_is_taken(rules: dict[str, Any]) -> None:
    assert examine(ModeRules(**rules)).errors == {}


@pytest.mark.parametrize(
    ("rules", "field", "sentence"),
    [
        ({"min_score": 0}, "max_score", "both min_score and max_score, or neither"),
        ({"max_score": 0}, "min_score", "both min_score and max_score, or neither"),
        ({"min_score": 5, "max_score": 5}, "max_score", "greater than min_score"),
        ({"min_score": 6, "max_score": 5}, "max_score", "greater than min_score"),
        ({"aggregation": "sum", "max_total": 5}, "max_total", "needs a min_score of 0 or more"),
        ({"aggregation": "sum", "min_score": -1, "max_score": 5, "max_total": 5}, "max_total", "must not sink"),
        ({"aggregation": "sum", "min_score": 0, "max_score": 6, "max_total": 5}, "max_total", "not be less than max"),
        ({"windows": ()}, "windows", "at least one window"),
        ({"windows": ("daily", "daily")}, "windows", "named twice"),
        ({"windows": ("hourly",)}, "windows", "There is no window 'hourly'"),
        ({"timezone": "Europe/Atlantis"}, "timezone", "There is no timezone 'Europe/Atlantis'"),
        ({"timezone": "../etc/passwd"}, "timezone", "There is no timezone"),
        ({"dimensions": ("a", "a")}, "dimensions", "named twice"),
        ({"dimensions": ("friends",)}, "dimensions", "scope of its own"),
        ({"dimensions": ("Level",)}, "dimensions", "is not a name"),
        ({"dimensions": tuple("abcdefghi")}, "dimensions", "at most 8"),
        ({"bounds": {"country:DE": Bounds(high=5)}}, "bounds.country:DE", "comes with the submission"),
        ({"bounds": {"le vel:7": Bounds(high=5)}}, "bounds.le vel:7", "comes with the submission"),
        ({"bounds": {"level": Bounds(high=5)}}, "bounds.level", "Name a value"),
        ({"bounds": {"level:": Bounds(high=5)}}, "bounds.level:", "Name a value"),
        ({"values": {"country": ("DE",)}}, "values.country", "comes from the player"),
        ({"values": {"region": ("eu",)}}, "values.region", "comes from the player"),
        ({"values": {"guild": ("a",)}}, "values.guild", "comes with the submission"),
        ({"values": {"le vel": ("a",)}}, "values.le vel", "comes with the submission"),
        ({"values": {"level": ()}}, "values.level", "at least one"),
        ({"values": {"level": ("a", "a")}}, "values.level", "named twice"),
        ({"values": {"level": ("a", "b")}, "dimension_values": 1}, "values.level", "more values than"),
        ({"values": {"level": ("a b",)}}, "values.level", "A value is 1 to 64"),
        ({"bounds": {"level:7": Bounds()}}, "bounds.level:7", "min_score, max_score or both"),
        ({"bounds": {"level:7": Bounds(low=6, high=5)}}, "bounds.level:7", "must not be less"),
        (
            {"min_score": 0, "max_score": 9, "bounds": {"level:7": Bounds(high=10)}},
            "bounds.level:7",
            "tighter than the mode's, not wider",
        ),
        (
            {"min_score": 0, "max_score": 9, "bounds": {"level:7": Bounds(low=-1)}},
            "bounds.level:7",
            "tighter than the mode's, not wider",
        ),
    ],
)
def test_what_does_not_is_refused_by_field(rules: dict[str, Any], field: str, sentence: str) -> None:
    errors = examine(ModeRules(**rules)).errors
    assert list(errors) == [field]
    assert sentence in " ".join(errors[field])


def test_everything_that_is_wrong_is_said_at_once() -> None:
    errors = examine(ModeRules(min_score=1, windows=(), timezone="Nowhere", dimensions=("X",))).errors
    assert set(errors) == {"max_score", "windows", "timezone", "dimensions"}


@pytest.mark.parametrize(
    ("rules", "warning"),
    [
        ({}, "Without min_score and max_score, equal scores are ordered by player"),
        ({"aggregation": "sum"}, "Without max_total, equal scores are ordered by player"),
        ({"min_score": -MAX_RAW, "max_score": MAX_RAW}, "no bits are left for ties"),
        ({"min_score": 0, "max_score": MAX_RAW - 1}, "no bits are left for ties"),
        ({"min_score": 0, "max_score": 9, "max_total": 9}, "max_total has no effect"),
        ({"min_score": 0, "max_score": 9, "bounds": {"level:7": Bounds(high=5)}}, "bounds of level:7 have no effect"),
        ({"min_score": 0, "max_score": 9, "values": {"level": ("7",)}}, "values of level have no effect"),
        (
            {
                "min_score": 0,
                "max_score": 9,
                "dimensions": ("level",),
                "values": {"level": ("1",)},
                "bounds": {"level:7": Bounds(high=5)},
            },
            "'7' is not one of the declared values",
        ),
        ({"min_score": 0, "max_score": 9, "new_values": "anyone"}, 'new_values = "anyone" has no effect'),
    ],
)
def test_what_is_unwise_is_a_warning(rules: dict[str, Any], warning: str) -> None:
    found = examine(ModeRules(**rules))
    assert found.errors == {}
    assert len(found.warnings) == 1
    assert warning in found.warnings[0]


@pytest.mark.parametrize(
    "rules",
    [
        {"min_score": 0, "max_score": 1_000_000},
        {"tie_break": "none"},
        {"min_score": 0, "max_score": MAX_RAW // 2 - 1},
        {"aggregation": "sum", "min_score": 0, "max_score": 9, "max_total": 1_000_000},
        {"min_score": 0, "max_score": 9, "new_values": "anyone", "submit": "open"},
        {
            "min_score": 0,
            "max_score": 9,
            "dimensions": ("level",),
            "values": {"level": ("7",)},
            "bounds": {"level:7": Bounds(high=5)},
        },
    ],
)
def test_what_is_wise_has_no_warning(rules: dict[str, Any]) -> None:
    assert examine(ModeRules(**rules)).warnings == []


def test_ties_are_told_apart_by_what_the_range_leaves() -> None:
    rules = ModeRules(min_score=0, max_score=1_000_000)
    assert rules.tie_resolution_ms("daily") == 1
    assert ModeRules().tie_resolution_ms("daily") is None
    assert ModeRules(min_score=0, max_score=10, tie_break="none").tie_resolution_ms("daily") is None
    total = ModeRules(aggregation="sum", min_score=0, max_score=1, max_total=MAX_RAW // 4 - 1)
    assert total.key_range() == (0, MAX_RAW // 4 - 1)
    assert total.tie_resolution_ms("daily") == 86_400_000 // 4


def test_what_scores_mean_and_where_they_stand_depends_on_the_locked_rules() -> None:
    changed = ModeRules(aggregation="sum", order="asc", timezone="Asia/Tokyo", grace_seconds=0, submit="open")
    assert locked_changes(ModeRules(), changed) == ["aggregation", "order", "timezone"]
    boards = ModeRules(windows=("daily",), ranking="dense", tie_break="none", dimensions=(), max_score=1, min_score=0)
    assert set(locked_changes(ModeRules(), boards)) == {
        "windows", "ranking", "tie_break", "dimensions", "max_score", "min_score",
    }  # fmt: skip
    assert locked_changes(ModeRules(), ModeRules(grace_seconds=0, dimension_values=5)) == []
