"""What a histogram tells is what counting would tell, give or take what lies between two of its bounds."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from leaderboards.rules.encoding import MAX_RAW
from leaderboards.rules.histogram import (
    Bound,
    Histogram,
    histogram_of,
    histogram_of_tally,
    keys_to_count,
    ranks_to_pick,
)

ANY = st.integers(-MAX_RAW, MAX_RAW)
ROUND = st.integers(-5, 5).map(lambda one: one * 1000)
KEYS = st.one_of(ANY, ROUND, st.integers(0, 300))
BOARDS = st.one_of(st.lists(ANY), st.lists(ROUND), st.lists(st.integers(0, 300), max_size=400), st.lists(KEYS))
BUCKETS = st.integers(1, 40)


def _above(members: list[int], key: int) -> int:
    return sum(one > key for one in members)


def _bound(members: list[int], key: int) -> Bound:
    return Bound(key, _above(members, key), sum(one >= key for one in members))


def _picked(members: list[int], buckets: int) -> list[Bound]:
    ordered = sorted(members, reverse=True)
    return [_bound(members, ordered[rank]) for rank in ranks_to_pick(len(members), buckets)]


def _spread(members: list[int], shards: int, buckets: int) -> Histogram:
    parts = [members[shard::shards] for shard in range(shards)]
    picked = [sorted({*_picked(part, buckets)}, reverse=True) for part in parts]
    return histogram_of(_bound(members, key) for key in keys_to_count(picked, buckets))


@given(BOARDS, BUCKETS, KEYS)
def test_an_estimate_is_wrong_by_no_more_than_a_bucket_holds(members: list[int], buckets: int, key: int) -> None:
    found = histogram_of(_picked(members, buckets))
    assert found.total == len(members)
    for asked in {key, *members}:
        assert abs(found.count_above(asked) - _above(members, asked)) <= len(members) / buckets
        assert found.rank(asked) == 1 + found.count_above(asked)


@given(BOARDS, BUCKETS, st.integers(1, 5), KEYS)
def test_over_shards_an_estimate_is_wrong_by_no_more_than_two(
    members: list[int], buckets: int, shards: int, key: int
) -> None:
    found = _spread(members, shards, buckets)
    assert found.total == len(members)
    most = 2 * len(members) / buckets + shards  # a bucket, and as much again that the shards' picks leave open
    for asked in {key, *members}:
        assert abs(found.count_above(asked) - _above(members, asked)) <= most


@given(BOARDS, BUCKETS, st.integers(1, 5))
def test_what_is_known_exactly_is_told_exactly(members: list[int], buckets: int, shards: int) -> None:
    for found in (histogram_of(_picked(members, buckets)), _spread(members, shards, buckets)):
        for key in found.keys:
            assert found.count_above(key) == _above(members, key)
        assert len(set(found.keys)) == len(found.keys)
        assert found.count_above(MAX_RAW + 1) == 0
        assert found.count_above(-MAX_RAW - 1) == len(members)


@given(st.lists(ROUND, min_size=1), st.integers(2, 40), ROUND)
def test_a_key_that_a_whole_bucket_shares_is_exact(members: list[int], buckets: int, key: int) -> None:
    shared = [key] * (len(members) // (buckets - 1) + 1)  # as many as one in so many of them all
    everyone = members + shared
    assert histogram_of(_picked(everyone, buckets)).count_above(key) == _above(everyone, key)


@given(BOARDS, KEYS)
def test_a_tally_is_exact(members: list[int], key: int) -> None:
    tally = [*Counter(members[::2]).items(), *Counter(members[1::2]).items()]  # of two shards
    found = histogram_of_tally(tally, dense=False)
    dense = histogram_of_tally(tally, dense=True)
    assert found.total == dense.total == len(members)
    for asked in members:
        assert found.rank(asked) == 1 + _above(members, asked)
        assert dense.rank(asked) == 1 + len({one for one in members if one > asked})
    if key not in members:
        assert found.count_above(key) == _above(members, key)


@given(st.lists(ROUND, min_size=1), ROUND)
def test_who_moves_is_not_counted(members: list[int], key: int) -> None:
    for dense in (False, True):
        found = histogram_of_tally(Counter(members).items(), dense=dense)
        above = [one for one in members[1:] if one > key]
        assert found.rank(key, without=members[0]) == 1 + len(set(above) if dense else above)


@given(BOARDS, BUCKETS, ANY, ANY)
def test_the_greater_score_never_has_the_greater_rank(members: list[int], buckets: int, one: int, other: int) -> None:
    found = histogram_of(_picked(members, buckets))
    assert (found.rank(max(one, other)) - found.rank(min(one, other))) <= 0


@given(st.lists(st.builds(Bound, st.integers(0, 50), st.integers(0, 99), st.integers(0, 99))), ANY, ANY)
def test_bounds_that_contradict_each_other_are_brought_into_order(bounds: list[Bound], one: int, other: int) -> None:
    """As when half of the players leave between two calls."""
    found = histogram_of(bounds)
    assert 0 <= found.count_above(max(one, other)) <= found.count_above(min(one, other)) <= found.total
    assert sum(part.members for part in found.parts(7)) == found.total


@given(BOARDS, BUCKETS, st.integers(1, 60))
def test_parts_are_apart_and_have_everyone_once(members: list[int], buckets: int, most: int) -> None:
    parts = list(histogram_of(_picked(members, buckets)).parts(most))
    assert len(parts) <= most
    assert sum(part.members for part in parts) == len(members)
    for part in parts:
        assert part.worst <= part.best
        assert part.members == sum(part.worst <= one <= part.best for one in members)
    assert all(better.worst > worse.best for better, worse in pairwise(parts))


@given(st.lists(st.integers(0, 10**6), min_size=200, unique=True))
def test_parts_hold_about_as_many_each(members: list[int]) -> None:
    parts = list(histogram_of_tally([(one, 1) for one in members], dense=False).parts(10))
    assert len(parts) == 10
    assert max(part.members for part in parts) - min(part.members for part in parts) <= 2


@given(st.integers(2, 60), st.integers(1, 9), BUCKETS, ANY)
def test_what_is_spread_evenly_is_told_exactly(many: int, step: int, buckets: int, first: int) -> None:
    members = [first + step * n for n in range(many)]
    found = histogram_of(_picked(members, buckets))
    for key in range(first, first + step * many):
        assert abs(found.count_above(key) - _above(members, key)) <= (step > 1)


def test_few_scores_have_a_part_each_however_many_share_them() -> None:
    found = histogram_of_tally([(300, 1), (200, 98), (100, 1)], dense=False)
    assert list(found.parts(50)) == [(300, 300, 1), (200, 200, 98), (100, 100, 1)]


@given(st.integers(0, 10**7), st.integers(1, 1000))
def test_ranks_are_picked_from_the_first_to_the_last(members: int, buckets: int) -> None:
    picked = ranks_to_pick(members, buckets)
    assert picked == sorted(set(picked))
    assert picked[:1] + picked[-1:] == ([0, members - 1] if members else [])
    gaps = [after - before for before, after in pairwise(picked)]
    assert max(gaps, default=0) <= -(-members // buckets)
    assert len(picked) <= buckets + members.bit_length() + 2


def test_near_the_top_an_estimate_is_wrong_by_a_part_of_the_rank() -> None:
    members = [10**12 // rank for rank in range(1, 10**5)]  # a long tail: the first have far more than the others
    found = histogram_of(_bound_of_tail(members, rank) for rank in ranks_to_pick(len(members), 100))
    for rank in (1, 2, 3, 10, 50, 200, 900):
        assert abs(found.rank(members[rank - 1]) - rank) <= rank / 2


def _bound_of_tail(members: list[int], rank: int) -> Bound:
    return Bound(members[rank], rank, rank + 1)
