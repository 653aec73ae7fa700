"""The head of a board over four shards: asked for once a second, the same for all who read it, all of one moment."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from config import valkey
from leaderboards import ranking, tops
from leaderboards.boards import store
from leaderboards.boards.board import Band, Board, Page, board_named
from leaderboards.boards.guard import Guard
from leaderboards.boards.store import NotBuilt
from leaderboards.errors import BoardsUnavailable
from leaderboards.models import Mode
from leaderboards.rules.instants import micros
from players.models import Ban, Player
from tests.factories import make_game, make_mode
from tests.hearing import guarded
from tests.leaderboards.board_model import Attempt, ranked
from tests.leaderboards.boards_of_many import fill, make_board
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("guard")]
PLAYERS = 1300
INSIDE = [(0, 10), (0, 1000), (990, 10), (500, 37), (3, 1), (90, 10), (91, 10), (999, 1)]
BEYOND = [(995, 10), (1000, 50), (1290, 50), (5000, 5)]


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    with guarded(monkeypatch, "leaderboards.tops") as own:
        yield own
    tops.forget()


@pytest.fixture
def for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shared would be so for longer than the test takes."""
    monkeypatch.setattr(tops, "SECONDS", 60.0)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each scatter over the shards how many entries were asked for."""
    made, read = list[int](), store.read_each

    def noted(questions: list[tuple[object, ...]], *rest: object, **options: bool) -> object:
        made.append(int(str(questions[0][-1])) + 1)
        return read(questions, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "read_each", noted)
    return made


def _unlike_each_other(number: int) -> int:
    """Scores in which equals stand in all shards, and at the end of pages."""
    return number * 7919 % 60


def _listed(page: Page) -> list[tuple[int, int, int]]:
    return [(entry.rank, entry.player, entry.score) for entry in page.entries]


def _model(board: Board, scores: list[int]) -> list[tuple[int, int, int]]:
    began = board.mode.epoch
    attempts = [Attempt(n, score, began + timedelta(microseconds=n), "") for n, score in enumerate(scores, 1)]
    return ranked(board.mode, attempts)


@pytest.mark.usefixtures("for_long")
@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("rule", ["unique", "competition"])
def test_each_page_is_as_the_model_says(guard: Guard, trips: list[int], rule: str, order: str) -> None:
    board = make_board(4, ranking=rule, order=order, min_score=0, max_score=1000)
    scores = [_unlike_each_other(number) for number in range(PLAYERS)]
    fill(board, scores)
    expected, shown = _model(board, scores), list[tuple[int, int, Page]]()
    for offset, limit in INSIDE + BEYOND:
        if (offset, limit) == BEYOND[0]:
            assert trips == [100, 1000], "two for all of them"
        found = ranking.page(board, offset=offset, limit=limit)
        assert _listed(found) == expected[offset : offset + limit]
        shown.append((offset, limit, found))
    for offset, limit, found in shown:
        assert found == ranking.page(replace(board, fresh=True), offset=offset, limit=limit)


def test_a_board_of_few_or_none_has_a_top_too(guard: Guard) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    for scores in ([], [7], [7, 7, 9]):
        fill(board, scores)
        tops.forget()
        for offset, limit in ((0, 1), (0, 50), (1, 1), (2, 50), (50, 50)):
            found = ranking.page(board, offset=offset, limit=limit)
            assert found == ranking.page(replace(board, fresh=True), offset=offset, limit=limit)


@pytest.mark.usefixtures("for_long")
def test_many_who_ask_at_once_cost_one_trip(guard: Guard, trips: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    fill(board, range(100))
    read = store.read_each
    monkeypatch.setattr(store, "read_each", lambda *asked, **how: time.sleep(0.05) or read(*asked, **how))
    with ThreadPoolExecutor(8) as readers:
        found = list(readers.map(lambda n: tops.page(board, offset=n, limit=10), range(16)))
    assert trips == [100]
    assert {page.version for page in found} == {4}
    assert [page.entries[0].rank for page in found] == list(range(1, 17))


def test_one_who_fails_to_make_it_does_not_fail_the_others_one_after_the_other(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    asking, at_once = list[object](), list[int]()

    def away(*asked: object, **how: object) -> None:
        asking.append(None)
        at_once.append(len(asking))
        time.sleep(0.2)
        asking.pop()
        raise BoardsUnavailable

    monkeypatch.setattr(store, "read_each", away)
    with ThreadPoolExecutor(8) as readers:
        asked = [readers.submit(tops.page, board, offset=0, limit=10) for _ in range(8)]
        assert {type(one.exception()) for one in asked} == {BoardsUnavailable}
    assert max(at_once) > 1


def test_it_is_made_no_oftener_whatever_changes(
    guard: Guard, trips: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tops, "SECONDS", 0.3)
    board = make_board(4, min_score=0, max_score=1000)
    began, seen, number = time.monotonic(), list[int](), 0
    while len(set(seen)) < 3 or number < 20:
        number += 1
        fill(board, range(10 + number), number=number)
        seen.append(ranking.page(board, offset=0, limit=10).total)
    assert seen == sorted(seen)
    assert len(trips) == len(set(seen)) <= 1 + (time.monotonic() - began) / 0.3
    assert len(trips) < number


def _with(board: Board, player: int, score: int) -> None:
    """One more, applied by ourselves."""
    slot = board.slots[player % 4]
    place = board.placing.place(score, micros(board.mode.epoch))
    store.apply(slot, 2, [store.Change("alltime", "global", 0, [(place, player)], [])], at=2, width=0)


@pytest.mark.usefixtures("for_long")
@pytest.mark.parametrize(
    "ask",
    [
        lambda board: ranking.page(replace(board, fresh=True), offset=0, limit=10),
        lambda board: ranking.page(board, offset=0, limit=10, band=Band(0, None)),
        lambda board: ranking.page(board, offset=0, limit=1001),
    ],
    ids=["who waits", "a band", "more than it has"],
)
def test_others_are_shown_what_is_there(guard: Guard, ask: Callable[[Board], Page]) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    fill(board, range(10))
    assert ranking.page(board, offset=0, limit=10).total == 10
    _with(board, 50, 999)
    assert ask(board).total == 11
    assert ranking.page(board, offset=0, limit=10).total == 10, "the others have theirs"


@pytest.mark.usefixtures("for_long")
def test_nothing_is_shared_while_changes_are_not_heard(guard: Guard) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    fill(board, range(10))
    assert ranking.page(board, offset=0, limit=10).total == 10
    guard._events.close()  # noqa: SLF001
    _with(board, 50, 999)
    assert ranking.page(board, offset=0, limit=10).total == 11


@pytest.mark.usefixtures("for_long")
def test_once_somebody_else_has_written_to_a_board_nobody_is_shown_it(guard: Guard) -> None:
    board = make_board(4, min_score=0, max_score=1000)
    fill(board, range(10))
    assert ranking.page(board, offset=0, limit=10).total == 10
    key = board.slots[2].board_keys("alltime", "global")[-1]
    valkey.client(settings.VALKEY_URL).zadd(key, {store.member(2): 10**9})
    with pytest.raises(NotBuilt):
        ranking.page(board, offset=0, limit=10)


@pytest.mark.django_db(transaction=True)
def test_who_is_banned_is_gone_when_its_time_is_over(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tops, "SECONDS", 0.5)  # of a second see test_pages_are_kept_and_never_stale.py
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    Mode.objects.update(shards=4)
    mode.refresh_from_db()
    for number in range(8):
        submit(mode, f"p-{number}", 10 * number, datetime.now(UTC), number)
    drain(mode)
    mode.refresh_from_db()
    board = board_named(mode=mode, window="alltime", scope="global", at=datetime.now(UTC))
    before = ranking.page(board, offset=0, limit=10)
    Ban.objects.create(player=Player.objects.get(player_id="p-7"), kind=Ban.Kind.BAN, reason="")
    drain(mode)
    applied = asked = time.monotonic()
    while (found := ranking.page(board, offset=0, limit=10)) == before:
        assert asked - applied < 0.5
        time.sleep(0.01)
        asked = time.monotonic()
    assert found == ranking.page(replace(board, fresh=True), offset=0, limit=10)
    assert (found.total, found.entries[0].score) == (7, 60)
    assert found.version > before.version
