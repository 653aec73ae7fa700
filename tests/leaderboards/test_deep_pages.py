"""A page deep in a board over several shards is searched for: the same page as when all that stands before it is read,
for as many trips and entries however deep it is.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.conf import settings

from config import valkey
from leaderboards import ranking, searching, whereabouts
from leaderboards.boards import store
from leaderboards.boards.board import Band, Board, Page
from leaderboards.boards.store import Change
from leaderboards.models import Placement, Standing
from leaderboards.outbox import shard_of
from leaderboards.rules.instants import micros
from tests.factories import make_player
from tests.leaderboards.boards_of_many import fill_slot, make_board

pytestmark = pytest.mark.django_db
SHARDS = 4
MOST = 10**6  # of a score
Scores = Callable[[random.Random, int], int]  # of a player
SCORES: dict[str, Scores] = {
    "all unlike": lambda chance, _: chance.randrange(MOST),
    "many equals": lambda chance, _: chance.randrange(4),
    "all equal": lambda _chance, _player: 7,
    "far apart": lambda chance, _: 2 ** chance.randrange(20),
    "shards unlike": lambda chance, player: 1000 * (player % SHARDS) + chance.randrange(9),
    "nearly all equal": lambda chance, _: chance.choice([0, *[5] * 30, MOST]),
}
PLAYERS: dict[str, Callable[[random.Random, int], Iterable[int]]] = {
    "one after the other": lambda _, many: range(1, many + 1),
    "in one shard": lambda _, many: range(SHARDS, SHARDS * many + 1, SHARDS),
    "far apart": lambda chance, many: {chance.randrange(1, 2 ** chance.randrange(1, 62)) for _ in range(many)},
}


def _filled(board: Board, scores: dict[int, int]) -> Board:
    """The lesser a player's pk the later it was, so that time and pk are not one order."""
    began = micros(board.mode.epoch)
    members = [(board.placing.place(score, began + 10**9 // player), player) for player, score in scores.items()]
    for slot in board.slots:
        own = [one for one in members if shard_of(one[1], board.mode.shards) == slot.shard]
        fill_slot(board, slot, own, number=1)
    return board


@contextmanager
def _ways(**tuned: int) -> Iterator[None]:
    trips = count()

    def near(*args: Any) -> list[whereabouts.Near]:
        assert next(trips) < 200, "It does not end."
        return whereabouts.near(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "DEEP", tuned.get("deep", 0))
        patch.setattr(searching, "MARKS", tuned.get("marks", searching.MARKS))
        patch.setattr(searching, "near", near)
        yield


def _read(board: Board, offset: int, limit: int, band: Band | None = None) -> Page:
    """The way that is known: everything up to the page, of every shard."""
    with _ways(deep=10**9):
        return ranking.page(board, offset=offset, limit=limit, band=band)


def _searched(board: Board, offset: int, limit: int, band: Band | None = None, *, marks: int) -> Page:
    with _ways(deep=0, marks=marks):
        return ranking.page(board, offset=offset, limit=limit, band=band)


def _viewed(board: Board, score: int) -> Board:
    """As a shadow-banned player sees it who would stand there with this score."""
    mode, player = board.mode, make_player(board.mode.game)
    Placement.objects.create(mode=mode, player=player, region="", country="", listed=False)
    at = mode.epoch + timedelta(microseconds=500)
    Standing.objects.create(
        mode=mode, player=player, window=board.window.id, scope="", score=score, achieved_at=at, attempt=1
    )
    return replace(board, viewer=player.pk)


@pytest.mark.parametrize("tie_break", ["none", "earliest"])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("scores", SCORES)
def test_a_page_that_is_searched_for_is_the_page_that_is_read(scores: str, players: str, tie_break: str) -> None:
    chance = random.Random(f"{scores} {players} {tie_break}")  # noqa: S311 - a mix, not a secret
    for order, rule in (("desc", "unique"), ("asc", "competition"), ("desc", "competition")):
        board = make_board(SHARDS, ranking=rule, order=order, tie_break=tie_break, min_score=0, max_score=MOST)
        found = {player: SCORES[scores](chance, player) for player in PLAYERS[players](chance, 40)}
        _filled(board, found)
        end = len(found)
        for offset in range(end + 3):
            limit, marks = chance.choice([1, 3, 50]), chance.choice([2, 3, 5])
            page = _searched(board, offset, limit, marks=marks)
            assert page == _read(board, offset, limit), (offset, limit, marks)
            assert len(page.entries) == max(0, min(limit, end - offset))


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("scores", SCORES)
def test_an_offset_is_within_the_band(scores: str, order: str) -> None:
    chance = random.Random(f"{scores} {order}")  # noqa: S311
    tie_break = chance.choice(["none", "earliest"])
    board = make_board(SHARDS, ranking="competition", order=order, tie_break=tie_break, min_score=0, max_score=MOST)
    found = {player: SCORES[scores](chance, player) for player in range(1, 60)}
    _filled(board, found)
    for _ in range(12):
        low, high = (chance.choice([None, *found.values()]) for _ in range(2))
        band = Band(low, high)  # of scores that are there; sometimes of none
        inside = sum((low is None or one >= low) and (high is None or one <= high) for one in found.values())
        for offset in {0, 1, 7, inside // 2, max(0, inside - 1), inside, inside + 1, 1000}:
            limit, marks = chance.choice([1, 4, 100]), chance.choice([2, 4])
            page = _searched(board, offset, limit, band, marks=marks)
            assert page == _read(board, offset, limit, band), (band, offset, limit, marks)
            assert (page.total, len(page.entries)) == (inside, max(0, min(limit, inside - offset)))


@pytest.mark.parametrize("scores", SCORES)
def test_who_sees_itself_sees_itself_there(scores: str) -> None:
    chance = random.Random(scores)  # noqa: S311
    for order, tie_break in (("desc", "none"), ("asc", "earliest")):
        bare = make_board(SHARDS, ranking="competition", order=order, tie_break=tie_break, min_score=0, max_score=MOST)
        board = _viewed(bare, SCORES[scores](chance, 1))
        own = board.viewer or 0
        found = {player: SCORES[scores](chance, player) for player in range(max(1, own - 15), own + 15)}
        del found[own]
        _filled(board, found)
        seen = 0
        for offset in range(len(found) + 3):
            page = _searched(board, offset, 1, marks=chance.choice([2, 3]))
            assert page == _read(board, offset, 1), (order, offset)
            assert page.total == len(found) + 1
            seen += own in {entry.player for entry in page.entries}
            band = Band(*sorted(chance.choices([*found.values()], k=2)))
            assert _searched(board, offset, 2, band, marks=2) == _read(board, offset, 2, band), (order, offset, band)
        assert seen == 1


def test_of_a_board_without_anybody_there_is_no_page() -> None:
    board = _filled(make_board(SHARDS), {})
    assert _searched(board, 5, 10, marks=2) == _read(board, 5, 10)


class Trips:
    """What each carried: how many entries, of the shard that sent most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.carried, self.between = list[int](), dict[int, Callable[[], None]]()
        read = store.read_each

        def noted(*args: Any, **options: Any) -> list[list[store.Answer]]:
            self.between.pop(len(self.carried), lambda: None)()
            assert len(self.carried) < 200, "It does not end."
            answers = read(*args, **options)
            shards = zip(*answers, strict=True)
            self.carried.append(max(sum(_entries(one.rest) for one in own) for own in shards))
            return answers

        monkeypatch.setattr(store, "read_each", noted)

    def of(self, board: Board, offset: int, limit: int) -> list[int]:
        self.carried.clear()
        ranking.page(board, offset=offset, limit=limit)
        return list(self.carried)


def _entries(answer: Any) -> int:
    """Member and place, member and place …"""
    if not answer or not isinstance(answer, list):
        return 0
    return len(answer) // 2 if isinstance(answer[0], bytes) and len(answer[0]) == 8 else sum(map(_entries, answer))


@pytest.mark.parametrize("scores", SCORES)
def test_however_deep_a_page_is_it_costs_a_few_trips_and_entries(scores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(scores)  # noqa: S311
    board = make_board(SHARDS, ranking="unique", tie_break="none")
    _filled(board, {player: SCORES[scores](chance, player) for player in range(1, 12_001)})
    trips, limit = Trips(monkeypatch), 10
    for offset in (ranking.DEEP, 3000, 5999, 9000, 11_990):
        carried = trips.of(board, offset, limit)
        assert len(carried) <= (7 if scores == "shards unlike" else 4), (offset, carried)
        assert max(carried[:-1]) <= 2 * (searching.MARKS + 2), "two of each place that it asks about"
        assert carried[-1] <= 2 * (2 * searching.MARKS + limit), (
            "the page, what is left before it, as much on the other side"
        )
    assert len(trips.of(board, 12_000, limit)) == 1, "beyond the end there is nothing to look for"


def test_even_of_the_worst_board_it_is_found_in_as_many_trips_as_numbers_have_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = make_board(SHARDS, ranking="competition", tie_break="none")
    everywhere = [sign * 2**power for power in range(52) for sign in (1, -1)]
    scores = {}
    for power in range(61):  # equals by the thousand in one shard, ever further apart; places as far apart in the next
        for turn in range(40):
            player = SHARDS * (2**power + turn)
            scores[player + 1] = everywhere[(7 * power + turn) % len(everywhere)]
            scores[player] = 2**52 + 1
    _filled(board, scores)
    trips = Trips(monkeypatch)
    for marks in (4, 64):
        for offset in range(0, len(scores), 97):
            expected = _read(board, offset, 3)
            with _ways(marks=marks):
                carried = trips.of(board, offset, 3)
                assert ranking.page(board, offset=offset, limit=3) == expected
            digits = {4: 27 + 31, 64: 9 + 11}[marks]  # of a place and of a player, in that base
            assert len(carried) <= digits + 4, (marks, offset)


def _interrupted(trips: Trips, act: Callable[[Board], None]) -> Iterator[tuple[Board, Page]]:
    """The same page of the same board, searched for, with something happening before its second trip, its third …"""
    for trip in count(1):
        board = make_board(SHARDS, ranking="unique", tie_break="none")
        _filled(board, {player: player % SHARDS * 1000 + player % 7 for player in range(1, 200)})
        trips.carried.clear()
        trips.between[trip] = partial(act, board)
        page = _searched(board, 150, 10, marks=2)
        if trips.between:  # it was the last
            assert trip > 3
            return
        yield board, page


@pytest.mark.usefixtures("wherever_boards_are")
def test_what_is_written_between_two_trips_begins_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for board, page in _interrupted(Trips(monkeypatch), _write):
        assert page == _read(board, 150, 10)
        assert (page.total, page.version) == (200, SHARDS + 1)


def test_a_board_that_expires_between_two_trips_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, page in _interrupted(Trips(monkeypatch), _expire):
        assert (page.total, page.entries) == (0, [])


def _write(board: Board) -> None:
    """One more who stands before all."""
    change = Change(board.window.id, board.scope, 0, [(MOST, 1000 * SHARDS)], [])
    store.apply(board.slot(0), 2, [change], at=2, width=0)


def _expire(board: Board) -> None:
    """Its keys are gone, at the time that was said."""
    server = valkey.client(settings.VALKEY_URL)
    for slot in board.slots:
        _, sizes, key = slot.board_keys(board.window.id, board.scope)
        server.hset(sizes, key, "50:1:0")
        server.delete(key)
