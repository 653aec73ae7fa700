"""Histograms of large boards: made by a task, shared by all processes, looked up without a call."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.utils import timezone

from config import metrics, valkey
from leaderboards import histograms as holding
from leaderboards import keys, tasks
from leaderboards.boards import published, store
from leaderboards.boards.board import Board, board_named
from leaderboards.boards.histogram import histogram_make
from leaderboards.histograms import Histograms
from leaderboards.models import Mode
from leaderboards.services import refreshing
from leaderboards.services.refreshing import histograms_refresh
from tests.leaderboards.boards_of_many import fill, make_board
from tests.leaderboards.test_trips_are_counted import Trips

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 3000


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(holding.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def board() -> Board:
    board = make_board(min_score=0, max_score=10**6)
    fill(board, range(MANY))
    return board


@pytest.fixture
def trips(board: Board, monkeypatch: pytest.MonkeyPatch) -> Trips:
    valkey.client(django_settings.CACHE_URL).ping()
    return Trips(monkeypatch)


def _cost(trips: Trips) -> tuple[int, int]:
    """To the boards and to the cache, since it was last asked."""
    found = trips.to(django_settings.VALKEY_URL), trips.to(django_settings.CACHE_URL)
    trips.sent.clear()
    return found


def _rank(own: Histograms, board: Board, score: int) -> int:
    return own.of(board).rank(board.placing.key(score))


def _metric(name: str) -> float:
    told = [line for line in metrics.exposition().decode().splitlines() if line.startswith(f"{name} ")]
    return float(told[0].split()[-1]) if told else 0.0


def test_a_look_up_costs_nothing_and_once_a_second_one_call(board: Board, trips: Trips, clock: Clock) -> None:
    maker, reader = Histograms(), Histograms()
    assert _rank(maker, board, MANY - 1) == 1
    boards, cache = _cost(trips)
    assert boards > 20, "nobody had made it"
    assert cache == 3, "looked for, published, noted"
    assert _rank(reader, board, MANY - 1) == 1
    assert _cost(trips) == (0, 2), "another process finds it, and notes that it reads"
    for score in range(0, MANY, 7):
        _rank(reader, board, score)
    assert _cost(trips) == (0, 0)
    clock.now += 1.1
    for score in range(0, MANY, 7):
        _rank(reader, board, score)
    assert _cost(trips) == (0, 1)
    clock.now += 6
    _rank(reader, board, 5)
    assert _cost(trips) == (0, 2), "that it is read is said again"


def test_a_small_board_is_read_in_one_trip_and_needs_no_task(trips: Trips, clock: Clock) -> None:
    own = Histograms()
    for shards in (1, 4):
        small = make_board(shards, min_score=0, max_score=10**6)
        fill(small, range(200))
        trips.sent.clear()
        assert _rank(own, small, 199) == 1
        assert _cost(trips) == (1, 1)
        assert _rank(own, small, 198) == 2
        assert own.of(small, version=shards).total == 200
        clock.now += 0.2
        own.of(small, version=shards)
        assert _cost(trips) == (0, 0), "of the same version it is as good as new"
        own.of(small, version=shards + 1)
        assert _cost(trips) == (1, 0)
        clock.now += 0.2
        own.of(small)
        assert _cost(trips) == (1, 0)
    assert not list(published.read_lately(at=timezone.now()))


def test_a_small_board_that_grows_is_shared_from_then_on(trips: Trips, clock: Clock) -> None:
    own, growing = Histograms(), make_board(min_score=0, max_score=10**6)
    fill(growing, range(900))
    assert own.of(growing).total == 900
    fill(growing, range(1100), number=2)
    clock.now += 0.2
    assert own.of(growing).total == 1100
    assert published.published(growing) is not None
    assert [noted[0] for noted in published.read_lately(at=timezone.now())] == [growing.mode.pk]


def test_the_task_makes_again_what_moved_and_was_read(board: Board, clock: Clock) -> None:
    own, now = Histograms(), timezone.now()
    assert histograms_refresh(now=now) == 0, "nobody has read it"
    assert own.of(board).total == MANY
    assert histograms_refresh(now=now) == 0, "it has not moved"
    fill(board, range(MANY + 500), number=2)
    assert own.of(board).total == MANY, "held, for a second"
    clock.now += 1.1
    assert own.of(board).total == MANY, "the task was not there yet"
    assert histograms_refresh(now=now) == 1
    assert histograms_refresh(now=now) == 0
    clock.now += 1.1
    assert own.of(board).total == MANY + 500
    assert _rank(own, board, MANY + 499) == 1
    fill(board, range(MANY), number=3)
    assert histograms_refresh(now=now + timedelta(hours=1)) == 0, "nobody has read it lately"
    assert not list(published.read_lately(at=now))


def test_what_has_not_moved_stays_while_it_is_read(board: Board) -> None:
    Histograms().of(board)
    server, key = valkey.client(django_settings.CACHE_URL), keys.histogram(board.mode.pk, 1, "alltime", "global")
    server.expire(key, 5)
    tasks.histograms()
    assert server.ttl(key) > 50


def test_age_and_error_are_told(board: Board) -> None:
    began = timezone.now()
    with time_machine.travel(began, tick=False):
        Histograms().of(board)
    measured, off = _metric("rung_histogram_error_share_count"), _metric("rung_histogram_error_share_sum")
    histograms_refresh(now=began + timedelta(seconds=3))
    assert _metric("rung_histogram_age_seconds") == 0, "what has not moved is not old"
    fill(board, range(500, MANY + 500), number=2)  # everybody 500 better: a sixth of the board
    histograms_refresh(now=began + timedelta(seconds=7))
    assert _metric("rung_histogram_age_seconds") == pytest.approx(7)
    assert _metric("rung_histogram_error_share_count") == measured + 20
    share = (_metric("rung_histogram_error_share_sum") - off) / 20
    assert 0.1 < share < 0.2, "as it was told until now"
    histograms_refresh(now=began + timedelta(seconds=8))
    assert _metric("rung_histogram_age_seconds") == 0


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("ranking", ["competition", "dense"])
def test_what_is_published_is_what_was_made(shards: int, ranking: str) -> None:
    board = make_board(1 if ranking == "dense" else shards, min_score=0, max_score=10**6, ranking=ranking)
    fill(board, [n % 1700 for n in range(MANY)])
    made, now = histogram_make(board), datetime(2026, 4, 5, 12, tzinfo=UTC)
    published.publish(board, made, at=now)
    assert published.published(board) == (made, now)
    if ranking == "dense":
        assert made.histogram.distinct
        assert made.histogram.rank(board.placing.key(1600)) == 100


def test_one_of_another_generation_scope_or_window_is_not_used(board: Board) -> None:
    own, at = Histograms(), timezone.now()
    assert own.of(board).total == MANY
    Mode.objects.update(generation=2)
    after = board_named(mode=Mode.objects.get(), window="alltime", scope="global", at=at)
    fill(after, range(1200))
    assert own.of(after).total == 1200
    for window, scope in (("daily", "global"), ("alltime", "country:DE")):
        assert own.of(board_named(mode=after.mode, window=window, scope=scope, at=at)).total == 0
    # and not either where somebody has put it under the wrong name
    server = valkey.client(django_settings.CACHE_URL)
    first, second = (keys.histogram(board.mode.pk, generation, "alltime", "global") for generation in (1, 2))
    server.copy(first, second, replace=True)
    assert published.published(after) is None
    assert Histograms().of(after).total == 1200


@pytest.mark.parametrize("garbage", [b"", b"x", b"\x93\x01\x02\x03", b"\xc0", b"\xff" * 100])
def test_what_cannot_be_read_is_made_again(board: Board, garbage: bytes) -> None:
    key = keys.histogram(board.mode.pk, 1, "alltime", "global")
    valkey.client(django_settings.CACHE_URL).set(key, garbage)
    assert Histograms().of(board).total == MANY


def test_without_a_cache_each_process_makes_its_own(board: Board, settings: Any, clock: Clock) -> None:
    settings.CACHE_URL = "redis://127.0.0.1:1/0"
    own = Histograms()
    assert own.of(board).total == MANY
    clock.now += 1.1
    assert own.of(board).total == MANY


def test_of_many_who_ask_at_once_one_fetches_it(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    own, asked, others = Histograms(), [], threading.Barrier(8)
    monkeypatch.setattr(Board, "is_untouched", False)  # the threads need no database
    ask = published.published

    def slowly(one: Board) -> Any:
        asked.append(one)
        threading.Event().wait(0.1)
        return ask(one)

    def read() -> None:
        others.wait()
        found.append(own.of(board).total)

    monkeypatch.setattr(published, "published", slowly)
    found: list[int] = []
    asking = [threading.Thread(target=read) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == [MANY] * 8
    assert len(asked) == 1


def test_who_asks_while_another_fetches_takes_what_is_there(
    board: Board, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, begun, ended = Histograms(), threading.Event(), threading.Event()
    own.of(board)
    clock.now += 1.1
    ask = published.published

    def slowly(asked: Board) -> Any:
        begun.set()
        assert ended.wait(10)
        return ask(asked)

    monkeypatch.setattr(published, "published", slowly)
    fetching = threading.Thread(target=own.of, args=[board])
    fetching.start()
    assert begun.wait(10)
    assert own.of(board).total == MANY, "at once"
    ended.set()
    fetching.join()


def test_not_more_are_held_than_there_is_room_for(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "SIZE", 3)
    own, at = Histograms(), timezone.now()
    for day in range(5):
        window = f"daily:{(at - timedelta(days=day)).date()}"
        own.of(board_named(mode=board.mode, window=window, scope="global", at=at))
    assert len(own._held) == 3  # noqa: SLF001 - what it holds is its own


def test_one_board_that_is_not_whole_keeps_no_other_waiting(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_board(min_score=0, max_score=10**6)
    fill(other, range(2000))
    for one in (board, other):
        Histograms().of(one)
    store.clear(other.slot(0))
    fill(board, range(MANY + 1), number=2)
    monkeypatch.setattr(refreshing, "sample", lambda boards, _: sorted(boards, key=lambda one: -one.mode.pk))
    assert histograms_refresh(now=timezone.now()) == 1
    board.mode.delete()
    other.mode.delete()
    assert histograms_refresh(now=timezone.now()) == 0, "they are gone"
