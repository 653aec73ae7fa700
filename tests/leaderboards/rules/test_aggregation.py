"""In whatever order attempts are told, the same score stands."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from leaderboards.rules.aggregation import Told, fold
from leaderboards.rules.mode import Aggregation, ModeRules, Order, TieBreak

ORDERS: st.SearchStrategy[Order] = st.sampled_from(["desc", "asc"])
TIES: st.SearchStrategy[TieBreak] = st.sampled_from(["earliest", "latest", "none"])
KINDS: st.SearchStrategy[Aggregation] = st.sampled_from(["best", "sum", "latest"])
ATTEMPTS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=8).map(
    lambda told: [Told(score, at, number) for number, (score, at) in enumerate(told)]
)


def folded(rules: ModeRules, told: list[Told]) -> Told:
    return reduce(lambda before, after: fold(rules, before, after), told[1:], fold(rules, None, told[0]))


@given(KINDS, ORDERS, TIES, ATTEMPTS, st.randoms(use_true_random=False))
def test_the_order_of_telling_does_not_matter(
    kind: Aggregation,
    order: Order,
    tie_break: TieBreak,
    told: list[Told],
    random: object,
) -> None:
    rules = ModeRules(aggregation=kind, order=order, tie_break=tie_break)
    shuffled = list(told)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert folded(rules, told) == folded(rules, shuffled)


@given(ORDERS, TIES, ATTEMPTS)
def test_best_is_an_attempt_that_none_is_better_than(order: Order, tie_break: TieBreak, told: list[Told]) -> None:
    best = folded(ModeRules(aggregation="best", order=order, tie_break=tie_break), told)
    assert best in told
    assert best.score == (max if order == "desc" else min)(one.score for one in told)
    equal = [one for one in told if one.score == best.score]
    if tie_break == "earliest":
        assert best.at == min(one.at for one in equal)
    elif tie_break == "latest":
        assert best.at == max(one.at for one in equal)
    assert best.attempt == min(one.attempt for one in equal if tie_break == "none" or one.at == best.at)


@given(ORDERS, TIES, ATTEMPTS)
def test_a_sum_is_the_sum_reached_at_the_last_time(order: Order, tie_break: TieBreak, told: list[Told]) -> None:
    total = folded(ModeRules(aggregation="sum", order=order, tie_break=tie_break), told)
    assert total == Told(sum(one.score for one in told), max(one.at for one in told), len(told) - 1)


@given(ORDERS, TIES, ATTEMPTS)
def test_latest_is_the_one_achieved_last_then_logged_last(order: Order, tie_break: TieBreak, told: list[Told]) -> None:
    last = folded(ModeRules(aggregation="latest", order=order, tie_break=tie_break), told)
    assert last == max(told, key=lambda one: (one.at, one.attempt))
