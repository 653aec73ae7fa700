"""Boards that nobody can read any more are removed in time, and no others, whatever is being rebuilt just then."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from config import valkey
from leaderboards import ranking, tasks
from leaderboards.boards import leftovers, store
from leaderboards.boards.board import board_named
from leaderboards.boards.store import Change, Slot
from leaderboards.models import Mode
from leaderboards.services import resharding
from leaderboards.services.housekeeping import boards_purge
from leaderboards.services.rebuilding import mode_rebuild
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("wherever_boards_are")]
START = datetime.now(UTC) - timedelta(minutes=1)
PLAYERS = 12
ALL = list(range(PLAYERS))[::-1]


class Killed(BaseException):
    """As by SIGKILL: nobody tidies up."""


@pytest.fixture
def solo() -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number in range(PLAYERS):
        submit(mode, f"p-{number}", number, START, number)
    drain(mode)
    return _now(mode)


def _now(mode: Mode) -> Mode:
    return Mode.objects.select_related("game").get(pk=mode.pk)


def _scores(mode: Mode) -> list[int]:
    board = board_named(mode=_now(mode), window="alltime", scope="global", at=timezone.now())
    return [entry.score for entry in ranking.page(board, offset=0, limit=100).entries]


def _rebuild(mode: Mode, shards: int) -> int:
    """Not tidied up after."""
    return mode_rebuild(mode=_now(mode), now=timezone.now(), shards=shards)


def _rebuild_killed(mode: Mode, shards: int) -> None:
    """Just before its commit."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(resharding.Stream.objects, "bulk_create", die)
        with pytest.raises(Killed):
            _rebuild(mode, shards)


def _left() -> dict[int, int]:
    """By generation, in how many shards there is anything."""
    slots = {slot for some in leftovers.named() for slot, _ in some}
    return dict(Counter(slot.generation for slot in slots))


def _put(slot: Slot) -> None:
    token = store.begin(slot)
    store.fill(slot, token, [Change("alltime", "global", 0, [(7, 1)], [])], width=0)
    store.built(slot, token, 1, at=1)


def test_what_a_killed_rebuild_left_is_removed_once_nobody_can_come_to_it(solo: Mode) -> None:
    first = solo.generation
    _rebuild_killed(solo, shards=8)
    assert _left() == {first: 1, first + 1: 8}
    assert boards_purge() == 0, "the next generation may be being filled"
    assert _rebuild(solo, shards=2) == first + 1
    assert _left() == {first: 1, first + 1: 8}
    assert boards_purge() > 0
    assert _left() == {first: 1, first + 1: 2}, "readers may be on their way in the one before"
    assert _scores(solo) == ALL
    for shards in (4, 1, 1):
        _rebuild(solo, shards)
    boards_purge()
    assert _left() == {first + 3: 1, first + 4: 1}
    assert boards_purge() == 0
    assert _scores(solo) == ALL


def test_boards_of_a_mode_that_is_gone_are_removed(solo: Mode) -> None:
    for shard in range(3):
        _put(Slot(solo.pk + 1000, shard, 7))
    assert boards_purge() == 9
    assert _left() == {solo.generation: 1}
    assert _scores(solo) == ALL


def test_a_mode_without_scores_may_yet_be_spread_over_other_shards(solo: Mode) -> None:
    unplayed = make_mode(solo.game, "unplayed")
    _put(Slot(unplayed.pk, 3, unplayed.generation))
    assert boards_purge() == 0


@pytest.mark.parametrize("shards", [1, 4])
def test_boards_that_are_being_filled_stay_whole(solo: Mode, shards: int) -> None:
    """Those that are read, too; whatever a killed one has left beside them."""
    _rebuild_killed(solo, shards=6)
    purges: list[threading.Thread] = []

    def purge() -> None:
        try:
            boards_purge()
        finally:
            connection.close()

    def progress(_: int) -> None:
        purges.append(threading.Thread(target=purge))
        purges[-1].start()
        purges[-1].join()
        assert _scores(solo) == ALL

    before = _now(solo).generation
    mode_rebuild(mode=_now(solo), shards=shards, now=timezone.now(), progress=progress)
    assert purges
    assert _scores(solo) == ALL
    for shard in range(shards):
        store.check(Slot(solo.pk, shard, before + 1))
    boards_purge()
    assert _left() == {before: 1, before + 1: shards}
    assert _scores(solo) == ALL


def test_what_is_not_named_as_a_board_is_left_alone(solo: Mode) -> None:
    server = valkey.client(settings.VALKEY_URL)
    names = [b"lb:{x.y}:g1:state", b"lb:{1.0}:g:state", b"lb:{%s.0}:g1:b" % (b"9" * 5000), b"lb:{\xff}:g1:\xff", b"lb:"]
    for name in names:
        server.set(name, "theirs")
    assert boards_purge() == 0
    assert [server.get(name) for name in names] == [b"theirs"] * len(names)


def test_beat_has_them_removed(solo: Mode) -> None:
    _put(Slot(solo.pk, 3, solo.generation))
    tasks.tidy_stamps()
    assert _left() == {solo.generation: 1}
