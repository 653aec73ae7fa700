"""What others do to a board is noticed by the next reader; what we do ourselves is not mistaken for it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from config import key_events, valkey
from leaderboards import ranking
from leaderboards.boards.board import Board, board_named
from leaderboards.boards.guard import Guard
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.models import Mode
from leaderboards.services.rebuilding import mode_rebuild, mode_tidy
from leaderboards.services.reconciling import reconcile_sample
from players.models import Ban, Player
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("wherever_boards_are"),
    pytest.mark.xdist_group("guard"),  # one of them makes the server deaf for a moment, for all
]
START = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture
def guard(wherever_boards_are: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    """One that listens without a thread of its own: what it knows, a reader has heard."""
    own = Guard()
    own._events.open()  # noqa: SLF001
    monkeypatch.setattr("leaderboards.boards.board.guard", own)
    yield own
    own._events.close()  # noqa: SLF001


@pytest.fixture(params=["unique", "dense"])
def solo(request: pytest.FixtureRequest) -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000, ranking=request.param)
    for number in range(5):
        submit(mode, f"p-{number}", 10 * number, START, number)
    drain(mode)
    mode.refresh_from_db()
    return mode


def _board(mode: Mode) -> Board:
    return board_named(mode=mode, window="alltime", scope="global", at=timezone.now())


def _first(mode: Mode) -> int:
    return ranking.page(_board(mode), offset=0, limit=1).entries[0].score


def _key(mode: Mode) -> str:
    return Slot(mode.pk, 0, mode.generation).board_keys("alltime", "global")[2]


def _another_score(server: Any, key: str) -> None:
    server.zadd(key, {server.zrange(key, 4, 4)[0]: 1})


def _more(server: Any, key: str) -> None:
    server.zincrby(key, 2**40, server.zrange(key, 0, 0)[0])


def _turned_round(server: Any, key: str) -> None:
    entries = server.zrange(key, 0, -1, withscores=True)
    places = [place for _, place in reversed(entries)]
    server.zadd(key, {member: place for (member, _), place in zip(entries, places, strict=True)})


def _a_copy(server: Any, key: str) -> None:
    server.restore(key, 0, server.dump(key), replace=True)


HANDS = [_another_score, _more, _turned_round, _a_copy]


@pytest.mark.parametrize("hand", HANDS)
def test_the_reader_after_a_foreign_hand_is_refused_until_the_boards_are_ours_again(
    solo: Mode, guard: Guard, hand: Callable[[Any, str], None]
) -> None:
    assert _first(solo) == 40
    hand(valkey.client(settings.VALKEY_URL), _key(solo))
    with pytest.raises(NotBuilt):
        _first(solo)
    with pytest.raises(NotBuilt):
        _first(solo)
    drain(solo)
    assert _first(solo) == 40


def test_a_foreign_hand_just_before_a_change_of_our_own_is_noticed(solo: Mode, guard: Guard) -> None:
    assert _first(solo) == 40
    server = valkey.client(settings.VALKEY_URL)
    server.zadd(_key(solo), {server.zrange(_key(solo), 4, 4)[0]: 1})
    submit(solo, "p-9", 7, START, 9)
    drain(solo)
    with pytest.raises(NotBuilt):
        _first(solo)
    drain(solo)
    assert _first(solo) == 40


def test_what_was_read_before_the_news_came_is_not_believed(solo: Mode, guard: Guard) -> None:
    """Another reader hears of it, and the boards are filled anew, all before this one looks."""
    slots = _board(solo).slots
    ours = guard.watch(slots)
    server = valkey.client(settings.VALKEY_URL)
    server.zadd(_key(solo), {server.zrange(_key(solo), 4, 4)[0]: 1})
    with pytest.raises(NotBuilt):
        _first(solo)
    drain(solo)
    assert _first(solo) == 40
    assert not ours()
    assert guard.watch(slots)()


def test_our_own_changes_are_trusted(solo: Mode, guard: Guard) -> None:
    player = Player.objects.get(player_id="p-4")
    ban = Ban.objects.create(player=player, kind=Ban.Kind.BAN, reason="")
    drain(solo)
    assert _first(solo) == 30
    ban.delete()
    submit(solo, "p-1", 999, START, 77)
    drain(solo)
    assert _first(solo) == 999
    mode_rebuild(mode=solo, now=timezone.now())
    mode_tidy(mode=solo)
    assert _first(solo) == 999
    reconcile_sample(now=timezone.now())
    valkey.client(settings.VALKEY_URL).delete(_key(solo))
    with pytest.raises(NotBuilt):
        _first(solo)
    drain(solo)
    assert _first(solo) == 999
    assert guard._raised == 0  # noqa: SLF001


def test_a_server_that_is_away_does_not_keep_the_others_from_being_heard(
    guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = valkey.servers(settings.VALKEY_URL)
    away = {f"away {n}": valkey.client(f"redis://127.0.0.1:{n}/0") for n in (1, 2, 3)}
    monkeypatch.setattr(valkey, "servers", lambda _: away | there)
    guard._events.close()  # noqa: SLF001
    with pytest.raises(valkey.ValkeyUnavailable):
        guard._events.open()  # noqa: SLF001
    assert guard._events._lines.keys() == there.keys()  # noqa: SLF001


def test_doctor_says_when_a_server_does_not_tell(guard: Guard) -> None:
    assert key_events.heard_check()
    server: Any = list(valkey.servers(settings.VALKEY_URL).values())[-1]
    told = server.config_get("notify-keyspace-events")["notify-keyspace-events"]
    server.config_set("notify-keyspace-events", "")
    try:
        with pytest.raises(RuntimeError, match="notify-keyspace-events Kghz"):
            key_events.heard_check()
    finally:
        server.config_set("notify-keyspace-events", told)
