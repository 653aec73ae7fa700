"""A board's histogram against the board itself: what it says is so, and how far off it is in between.

RUNG_HISTOGRAM_PLAYERS=1000000 measures at full size, and prints what was measured.
"""

import gc
import os
import time
from bisect import bisect_left
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.conf import settings

from config import valkey
from leaderboards.boards import histogram as making
from leaderboards.boards.board import Board
from leaderboards.boards.histogram import errors, histogram_make
from tests.leaderboards.boards_of_many import fill, fill_slot, make_board

pytestmark = pytest.mark.django_db(transaction=True)
MEASURED = "RUNG_HISTOGRAM_PLAYERS" in os.environ  # the server's own log of its calls is for one who is alone with it
PLAYERS = int(os.environ.get("RUNG_HISTOGRAM_PLAYERS", "20000"))
MOST = 10**9
chance = Random(7)  # noqa: S311 - the same one each time
DISTRIBUTIONS: dict[str, Callable[[], float]] = {
    "normal": lambda: chance.gauss(500_000, 100_000),
    "log-normal": lambda: chance.lognormvariate(8, 1.5),
    "uniform": lambda: chance.randrange(1_000_000),
    "round numbers": lambda: 1000 * round(chance.expovariate(1 / 12)),
}
RULES = [
    ("best", "desc", "unique", 1),
    ("best", "asc", "unique", 4),
    ("best", "desc", "competition", 4),
    ("best", "asc", "competition", 1),
    ("best", "desc", "dense", 1),
    ("best", "asc", "dense", 1),
    ("sum", "desc", "unique", 1),
    ("sum", "asc", "unique", 4),
    ("sum", "desc", "dense", 1),
]


def _scores(name: str, many: int) -> list[int]:
    return [min(max(int(DISTRIBUTIONS[name]()), 0), MOST) for _ in range(many)]


class Counted:
    """Exact counts, of scores turned so that more is better."""

    def __init__(self, scores: list[int], sign: int) -> None:
        self.sign, self.ordered = sign, sorted(sign * score for score in scores)
        self.distinct = sorted(set(self.ordered))

    def above(self, score: int) -> int:
        return len(self.ordered) - bisect_left(self.ordered, self.sign * score + 1)

    def keys_above(self, score: int) -> int:
        return len(self.distinct) - bisect_left(self.distinct, self.sign * score + 1)


@pytest.mark.parametrize(("aggregation", "order", "ranking", "shards"), RULES)
@pytest.mark.parametrize("many", [0, 1, 700, 5000])
def test_every_bound_is_exact(aggregation: str, order: str, ranking: str, shards: int, many: int) -> None:
    ranged = {"max_total": MOST} if aggregation == "sum" else {}
    rules = {
        "aggregation": aggregation,
        "order": order,
        "ranking": ranking,
        "min_score": 0,
        "max_score": MOST,
        **ranged,
    }
    board = make_board(shards, **rules)
    scores = _scores("log-normal", many // 2) + _scores("round numbers", many - many // 2)
    fill(board, scores)
    made, counted = histogram_make(board), Counted(scores, board.placing.sign)
    found = made.histogram
    assert (made.version, found.total, made.whole) == (shards, many, many <= 1000)
    assert {board.placing.score(key << board.placing.bits) for key in found.keys} <= set(scores)
    for key, above, upto in zip(found.keys, found.above, found.upto, strict=True):
        score = board.placing.score(key << board.placing.bits)
        assert (above, upto - above) == (counted.above(score), scores.count(score))
        exact = counted.keys_above(score) if ranking == "dense" else counted.above(score)
        assert found.rank(board.placing.key(score)) == 1 + exact
    if scores:
        assert found.count_above(board.placing.key(max(scores, key=lambda one: board.placing.sign * one))) == 0


def test_shards_may_be_of_any_size() -> None:
    board = make_board(4, min_score=0, max_score=MOST)
    for slot, many in zip(board.slots, (900, 3, 0, 40), strict=True):
        members = [(board.placing.place(n * (slot.shard + 1), 0), n * 4 + slot.shard) for n in range(many)]
        fill_slot(board, slot, members, 1)
    made = histogram_make(board)
    assert (made.histogram.total, made.whole) == (943, False)
    scores = [*range(900), 0, 2, 4, *range(0, 160, 4)]
    counted = Counted(scores, 1)
    assert all(abs(made.histogram.count_above(score) - counted.above(score)) <= 2 for score in range(900))


def test_scores_at_the_ends_of_what_a_board_can_hold_are_told_apart() -> None:
    for shards in (1, 2):
        board = make_board(shards)
        scores = [2**53, 2**53 - 1, -(2**53), 1 - 2**53] * 600
        fill(board, scores)
        found = histogram_make(board).histogram
        assert list(found.keys) == [2**53, 2**53 - 1, 1 - 2**53, -(2**53)]
        assert list(found.upto) == [600, 1200, 1800, 2400]


def _timed(board: Board, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float, float]:
    """Milliseconds of the longest call, with the way to the server and back: by the best that each did in several
    makings, for others use the processor too, and by the worst; and by the server's own clock, which is how long
    nobody else is served.
    """
    server = valkey.client(settings.VALKEY_URL)
    server.config_set("slowlog-log-slower-than", 100, "slowlog-max-len", 10_000)
    server.slowlog_reset()
    ask, makings = making.store.read, []
    gc.freeze()  # the test's own millions of numbers are not to be looked through meanwhile

    def timed(*args: Any) -> Any:
        began = time.perf_counter()
        answers = ask(*args)
        makings[-1].append(1000 * (time.perf_counter() - began))
        return answers

    with monkeypatch.context() as patched:
        patched.setattr(making.store, "read", timed)
        for _ in range(7):
            makings.append([])
            histogram_make(board)
    held = max((one["duration"] for one in server.slowlog_get(10_000)), default=0) / 1000
    server.config_set("slowlog-log-slower-than", 10_000, "slowlog-max-len", 128)
    return max(map(min, zip(*makings, strict=True))), max(map(max, makings)), held


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_estimate_is_within_a_fifth_of_a_percent(
    name: str, shards: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = make_board(shards, min_score=0, max_score=MOST)
    scores = _scores(name, PLAYERS)
    fill(board, scores)
    began = time.perf_counter()
    made = histogram_make(board)
    took, counted = time.perf_counter() - began, Counted(scores, 1)
    asked = chance.sample(scores, 5000) + [chance.randrange(max(scores)) for _ in range(1000)]
    off = sorted(abs(made.histogram.count_above(score) - counted.above(score)) / PLAYERS for score in asked)
    p99 = off[len(off) * 99 // 100]
    assert (made.whole, made.histogram.total) == (False, PLAYERS)
    assert p99 <= 0.002
    assert len(made.histogram.keys) <= making.BUCKETS + 100
    assert max(errors(board, made.histogram)) <= 0.004
    if not MEASURED:
        return
    longest, seen, held = _timed(board, monkeypatch)
    assert longest < 5
    with capsys.disabled():
        print(  # noqa: T201 - what was measured
            f"\n{name}, {shards} shard(s), {PLAYERS:,} players: p99 {p99:.4%}, worst {off[-1]:.4%} of N;"
            f" {len(made.histogram.keys)} bounds; the longest call {longest:.2f} ms ({seen:.2f} seen,"
            f" {held:.2f} by the server's clock);"
            f" {took * 1000:.0f} ms in all"
        )


def test_a_board_that_moves_while_it_is_read_still_makes_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    board = make_board(min_score=0, max_score=MOST)
    fill(board, range(5000))
    ask, moves = making.store.read, iter([range(2000, 9000), range(100)])

    def disturbed(*args: Any) -> Any:
        answers = ask(*args)
        if args[0] == "picks" and (scores := next(moves, None)):
            fill(board, scores)
        return answers

    monkeypatch.setattr(making.store, "read", disturbed)
    found = histogram_make(board).histogram
    counts = [found.count_above(key) for key in range(-1, 9001, 7)]
    assert counts == sorted(counts, reverse=True)
    assert 0 <= counts[-1] <= counts[0] <= found.total
