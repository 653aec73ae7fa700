"""PostgreSQL comes back without its last commits, and the boards show what it never heard of: they are made again."""

from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from config.errors import Unavailable
from leaderboards import ranking, stamp
from leaderboards.boards.board import board_named
from leaderboards.models import Mode, Outbox, Stamp, Standing, Stream
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
PLAYERS = 8


@pytest.fixture
def solo(monkeypatch: pytest.MonkeyPatch) -> Mode:
    monkeypatch.setattr(stamp, "PLAYERS_A_BATCH", 1)  # a number for each
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number in range(PLAYERS):
        submit(mode, f"p-{number}", number, timezone.now(), number)
    drain(mode)
    return Mode.objects.select_related("game").get()


def _lose(mode: Mode, attempts: int, *, from_: int) -> None:
    """As an asynchronous standby has it that takes over: without the last attempts and all that came of them."""
    with connection.cursor() as cursor:
        for attempt in range(from_, from_ + attempts):
            cursor.execute("DELETE FROM score_attempts WHERE attempt_id = %s RETURNING player_id", [UUID(int=attempt)])
            cursor.execute(
                "UPDATE leaderboards_standing SET score = %s WHERE player_id = %s",
                [attempt - from_, cursor.fetchone()[0]],
            )
    seq = Stream.objects.get().seq - attempts
    Stamp.objects.filter(seq__gt=seq).delete()
    Stream.objects.update(seq=seq)


def _shown(mode: Mode) -> dict[int, int]:
    board = board_named(mode=mode, window="alltime", scope="global", at=timezone.now())
    return {entry.player: entry.score for entry in ranking.page(board, offset=0, limit=100).entries}


@pytest.mark.parametrize("backlog", [0, 1, 3])
def test_what_was_lost_is_shown_no_more_and_what_came_since_is(solo: Mode, backlog: int) -> None:
    """However many numbers were given anew before anybody looked."""
    for number in range(2):
        submit(solo, f"p-{number}", 500 + number, timezone.now(), 100 + number)
    drain(solo)
    _lose(solo, 2, from_=100)
    for number in range(backlog):
        submit(solo, f"p-{number + 4}", 600 + number, timezone.now(), 200 + number)
    drain(solo)
    said = Standing.objects.filter(window="alltime", scope="").values_list("player_id", "score")
    assert _shown(solo) == dict(said)
    assert sorted(dict(said).values())[-backlog or PLAYERS :] == [600 + number for number in range(backlog)]


def test_while_the_boards_cannot_be_asked_nothing_is_given_a_number(solo: Mode, settings: Settings) -> None:
    seq, known = Stream.objects.get().seq, settings.VALKEY_URL
    submit(solo, "p-1", 700, timezone.now(), 300)
    settings.VALKEY_URL = "redis://127.0.0.1:9/0"
    with pytest.raises(Unavailable):
        stamp.stream_stamp(mode=solo, shard=0, now=timezone.now())
    assert (Stream.objects.get().seq, Outbox.objects.count()) == (seq, 1)
    settings.VALKEY_URL = known
    drain(solo)
    assert max(_shown(solo).values()) == 700
