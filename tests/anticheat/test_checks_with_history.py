"""What jump, outlier, cohort and top make of an improvement, from what they are told of the past."""

from array import array
from collections.abc import Mapping, Sequence

import pytest

from anticheat.checks.cohort import BeyondCohort, upper_tail
from anticheat.checks.jump import Jump, jumped
from anticheat.checks.outlier import Outlier, OutlierTuning, strangeness
from anticheat.checks.risk import risk_of
from anticheat.checks.top import Top, enters
from config.errors import Unavailable
from leaderboards.improvements import Improvement, Past, StampCheck
from leaderboards.models import Mode
from leaderboards.rules.cohort import Cohort
from leaderboards.rules.histogram import Histogram
from leaderboards.verdicts import Verdict, Weight

STEADY = [100, 104, 96, 101, 99, 103, 97, 100]


class Past50:
    """A history that is known beforehand, and counts how often it is asked."""

    def __init__(
        self, scores: Sequence[int] = (), cohort: Cohort | None = None, last: int | None = None, *, down: bool = False
    ) -> None:
        self.scores, self._cohort, self.last, self.down = scores, cohort, last, down
        self.asked = 0

    def past(self, some: Sequence[Improvement]) -> Mapping[int, Sequence[Past]]:
        self.asked += 1
        return {one.player: [Past(score, 0) for score in self.scores] for one in some}

    def cohort(self) -> Cohort | None:
        return self._cohort

    def place(self, rank: int) -> int | None:
        if self.down:
            raise Unavailable
        return self.last


def cohort_of(scores: Sequence[int]) -> Cohort:
    ordered = sorted(set(scores), reverse=True)
    above = array("q", [sum(one > score for one in scores) for score in ordered])
    upto = array("q", [sum(one >= score for one in scores) for score in ordered])
    return Cohort(Histogram(len(scores), array("q", ordered), above, upto), 0)


def better(score: int, *, before: int | None = 0, after: int | None = None) -> Improvement:
    return Improvement(1, 7, score, 0, 0, before, score if after is None else after)


def said(check: StampCheck, mode: Mode, one: Improvement, look: Past50 | None = None) -> Verdict | None:
    return check.judge(mode, [one], look or Past50()).get(0)


def a_mode(**fields: object) -> Mode:
    return Mode(slug="solo", **fields)


def test_a_step_larger_than_possible_waits_for_a_look() -> None:
    mode = a_mode(checks={"jump": {"max": 500}})
    assert said(Jump(), mode, better(600, before=100)) is None, "just as much is possible"
    verdict = said(Jump(), mode, better(601, before=100))
    assert verdict is not None
    assert (verdict.weight, verdict.reason) == (
        Weight.QUARANTINE,
        "501 better than the player's best before; 500 is possible.",
    )
    assert Jump().may_hold(mode)


def test_a_step_of_less_than_the_least_score_is_taken_as_that() -> None:
    mode = a_mode(checks={"jump": {"max": 0.4}})  # as it may have been declared once
    verdict = said(Jump(), mode, better(103, before=100))
    assert verdict is not None
    assert verdict.details == {"gain": 3, "max": 1}


def test_no_step_is_too_large_until_a_mode_says_so() -> None:
    assert said(Jump(), a_mode(), better(10**9, before=1)) is None
    assert not Jump().may_hold(a_mode())
    off = a_mode(checks={"jump": {"max": 5, "on": False}})
    assert said(Jump(), off, better(100, before=1)) is None
    assert not Jump().may_hold(off)


def test_the_largest_step_is_written_as_the_game_writes_scores() -> None:
    mode = a_mode(decimals=3, order="asc", checks={"jump": {"max": 2.5, "act": "reject"}})
    lap = better(-57_499, before=-60_000)  # a lap of 57.499 after one of 60.000
    verdict = said(Jump(), mode, lap)
    assert verdict is not None
    assert (verdict.weight, verdict.reason[:12]) == (Weight.REJECT, "2.501 better")
    assert said(Jump(), mode, better(-57_500, before=-60_000)) is None


def test_a_first_score_is_no_step_unless_scores_add_up() -> None:
    first = better(900, before=None)
    assert (jumped(first, adding=False), jumped(first, adding=True)) == (0, 900)
    added = better(5, before=100, after=105)
    assert jumped(added, adding=True) == 5


def test_a_score_far_from_what_a_player_has_shown_is_flagged() -> None:
    verdict = said(Outlier(), a_mode(), better(170, before=104), Past50(STEADY))
    assert verdict is not None
    assert verdict.weight is Weight.FLAG
    assert "usual 100 (of the last 8 attempts" in verdict.reason
    assert said(Outlier(), a_mode(), better(120, before=104), Past50(STEADY)) is None


def test_lower_is_better_where_the_mode_says_so() -> None:
    laps = [-one * 1000 for one in STEADY]
    fast = said(Outlier(), a_mode(order="asc", decimals=3), better(-30_000, before=-96_000), Past50(laps))
    assert fast is not None
    assert fast.reason.startswith("30.000 is")
    assert "usual 100.000" in fast.reason


@pytest.mark.parametrize("past", [[], [5], [100] * 4])
def test_of_few_attempts_nothing_is_said(past: list[int]) -> None:
    assert strangeness(10**9, past, OutlierTuning()) is None


def test_one_who_always_scored_the_same_may_do_a_little_better() -> None:
    """Without a floor the deviation would be nought, and anything an outlier."""
    found = strangeness(110, [100] * 10, OutlierTuning())
    assert found is not None
    assert found.deviations < found.limit
    assert found.deviation == 2, "a fiftieth of the median"
    tiny = strangeness(1, [0] * 10, OutlierTuning())
    assert tiny is not None
    assert tiny.deviation == 1


def test_the_fewer_attempts_the_further_the_limit() -> None:
    limits = [strangeness(0, [100] * many, OutlierTuning()) for many in (5, 10, 50)]
    assert [one.limit for one in limits if one] == pytest.approx([12, 9, 6.6])


def test_odd_scores_among_the_past_do_not_hide_the_next() -> None:
    found = strangeness(1000, [*STEADY, 900, 950, 1000], OutlierTuning())
    assert found is not None
    assert found.deviations > found.limit


def test_who_betters_the_best_by_little_costs_no_query() -> None:
    everybody = cohort_of(range(2000))  # a deviation of 741
    look = Past50(STEADY, everybody)
    assert said(Outlier(), a_mode(), better(300, before=100), look) is None
    assert look.asked == 0
    assert said(Outlier(), a_mode(), better(500, before=100), look) is not None
    assert look.asked == 1
    assert said(Outlier(), a_mode(), better(500, before=None), look) is None, "a first score betters nothing"
    assert look.asked == 1


def test_a_score_far_beyond_all_players_is_flagged_and_an_absurd_one_waits() -> None:
    look = Past50(cohort=cohort_of(range(2000)))  # the best hundredth from 1980 on, the tenth from 1800
    assert said(BeyondCohort(), a_mode(), better(2600), look) is None
    far = said(BeyondCohort(), a_mode(), better(2800), look)
    absurd = said(BeyondCohort(), a_mode(), better(10_000), look)
    assert far is not None
    assert absurd is not None
    assert (far.weight, absurd.weight) == (Weight.FLAG, Weight.QUARANTINE)
    assert "begins at 1980" in far.reason
    assert absurd.risk > far.risk > 0.5
    strict = a_mode(checks={"cohort": {"act": "reject"}})
    rejected = said(BeyondCohort(), strict, better(10_000), look)
    assert rejected is not None
    assert rejected.weight is Weight.REJECT, "absurd makes nothing milder"


def test_of_fewer_than_a_thousand_players_nothing_is_said() -> None:
    assert said(BeyondCohort(), a_mode(), better(10**9), Past50(cohort=cohort_of(range(999)))) is None
    assert said(BeyondCohort(), a_mode(), better(10**9), Past50()) is None


def test_where_all_have_the_same_score_the_tail_has_some_length() -> None:
    assert upper_tail(cohort_of([5] * 2000)) == (5, 1)


def test_what_is_beyond_all_is_less_where_less_is_better() -> None:
    look = Past50(cohort=cohort_of([-60_000 - one for one in range(2000)]))
    verdict = said(BeyondCohort(), a_mode(order="asc", decimals=3), better(-1_000, before=None), look)
    assert verdict is not None
    assert verdict.reason.startswith("1.000 is beyond")


def test_a_score_that_would_be_among_the_first_waits() -> None:
    mode = a_mode(checks={"top": {"k": 3}})
    verdict = said(Top(), mode, better(101), Past50(last=100))
    assert verdict is not None
    assert (verdict.weight, verdict.reason) == (Weight.QUARANTINE, "It would be among the first 3.")
    assert said(Top(), mode, better(100), Past50(last=100)) is None, "who was there first stays there"
    assert enters(better(1), None), "there is room"
    assert Top().may_hold(mode)


def test_the_top_is_open_until_a_mode_says_otherwise_and_while_boards_do_not_answer() -> None:
    assert said(Top(), a_mode(), better(101), Past50(last=100)) is None
    assert said(Top(), a_mode(checks={"top": {"k": 3}}), better(101), Past50(down=True)) is None


@pytest.mark.parametrize("check", [Outlier(), BeyondCohort()])
def test_a_check_that_is_off_says_nothing(check: StampCheck) -> None:
    mode = a_mode(checks={check.name: {"on": False}})
    assert said(check, mode, better(10**9, before=104), Past50(STEADY, cohort_of(range(2000)))) is None


def test_risk_begins_at_a_half_and_never_reaches_one() -> None:
    assert [risk_of(times) for times in (0.5, 1, 2, 10)] == [0.5, 0.5, 0.75, 0.95]
