"""A mode's boards move to another number of shards: nothing is lost, counted twice or shown in the wrong place."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import pairwise
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from leaderboards import ranking, whereabouts
from leaderboards.boards import store
from leaderboards.boards.board import Page, board_named
from leaderboards.boards.histogram import histogram_make
from leaderboards.boards.store import Slot
from leaderboards.drain import stream_drain, streams_sweep
from leaderboards.management.commands import rebuild_boards
from leaderboards.models import Mode, Outbox, SetAside, Stamp, Stream
from leaderboards.outbox import shard_of
from leaderboards.services import one_score
from leaderboards.services.corrections import attempt_take_back
from leaderboards.services.housekeeping import stamps_purge
from leaderboards.services.rebuilding import mode_rebuild, mode_tidy
from leaderboards.services.scores import Outcome
from leaderboards.services.set_aside import batches_retry_due
from leaderboards.stamp import stream_stamp
from players.models import Ban, Player
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime.now(UTC) - timedelta(minutes=1)
PLAYERS = 12


@pytest.fixture
def solo() -> Mode:
    """Each player has its own number."""
    mode = make_mode(make_game("arena"), aggregation="sum", min_score=0, max_score=1000, max_total=1_000_000)
    for number in range(PLAYERS):
        submit(mode, f"p-{number}", number, START, number)
    drain(mode)
    return _now(mode)


def _now(mode: Mode) -> Mode:
    return Mode.objects.select_related("game").get(pk=mode.pk)


def _pk(player_id: str) -> int:
    return Player.objects.get(player_id=player_id).pk


def _spread(mode: Mode, shards: int, *, meanwhile: Callable[[], None] = lambda: None) -> Mode:
    """`meanwhile`: once the snapshot is taken and part of it filled."""
    happened: list[threading.Thread] = []

    def act() -> None:
        try:
            meanwhile()
        finally:
            connection.close()

    def progress(_: int) -> None:
        if not happened:
            happened.append(threading.Thread(target=act))
            happened[0].start()
            happened[0].join()

    own = _now(mode)
    mode_rebuild(mode=own, shards=shards, now=timezone.now(), progress=progress)
    assert happened
    assert own.shards == shards == Stream.objects.filter(mode=mode).count()
    return own


def _page(mode: Mode) -> Page:
    board = board_named(mode=_now(mode), window="alltime", scope="global", at=timezone.now())
    return ranking.page(board, offset=0, limit=100)


def _totals(mode: Mode) -> dict[str, int]:
    found = _page(mode)
    assert [entry.rank for entry in found.entries] == list(range(1, found.total + 1))
    names = dict(Player.objects.values_list("pk", "player_id"))
    return {str(names[entry.player]): entry.score for entry in found.entries}


def _expected(**more: int) -> dict[str, int]:
    return {f"p-{number}": number + more.get(f"p_{number}", 0) for number in range(PLAYERS)}


def test_there_and_back_again_the_boards_are_the_same_and_versions_grow(solo: Mode) -> None:
    versions = [_page(solo).version]
    for attempt, shards in enumerate((4, 1, 3, 4, 2, 1, 4), 100):
        solo = _spread(solo, shards)
        versions.append(_page(solo).version)
        assert _totals(solo) == _expected(p_3=attempt - 100)
        submit(solo, "p-3", 1, START, attempt)
        drain(solo)  # batches are kept under the same shards again and again
        versions.append(_page(solo).version)
    assert versions == sorted(set(versions))


def test_moving_there_and_back_for_years_does_not_use_up_the_numbers(solo: Mode) -> None:
    """Which a server counts exactly up to 2^53 only: a version grows by what there was to number, never by a factor."""
    versions = [_page(solo).version]
    for attempt, shards in enumerate((16, 1) * 4, 100):
        solo = _spread(solo, shards)
        submit(solo, "p-3", 1, START, attempt)
        drain(solo)
        versions.append(_page(solo).version)
    assert _totals(solo) == _expected(p_3=8)
    assert max(after - before for before, after in pairwise(versions)) < 50


def test_who_has_not_heard_of_a_move_is_shown_what_is_right(solo: Mode) -> None:
    board = board_named(mode=solo, window="alltime", scope="global", at=timezone.now())
    before, player = solo.generation, _pk("p-3")
    page, (standing,) = ranking.page(board, offset=2, limit=4), whereabouts.around(board, [(player, 2)])[1]
    own = _now(solo)
    mode_rebuild(mode=own, shards=4, now=timezone.now())
    mode_tidy(mode=own, shards=1)
    assert ranking.page(board, offset=2, limit=4).entries == page.entries
    assert whereabouts.around(board, [(player, 2)])[1] == [standing]
    assert whereabouts.glance(board, [player])[0] == {player: 3}
    assert histogram_make(board).histogram.total == PLAYERS
    assert (solo.generation, solo.shards) == (before, 1)  # others hold it: who reads changes nothing of it


def test_what_is_stamped_while_the_boards_are_filled_is_on_them(solo: Mode) -> None:
    def meanwhile() -> None:
        for number in range(PLAYERS):
            submit(solo, f"p-{number}", 100, START, 100 + number)
        Ban.objects.create(player_id=_pk("p-5"), kind=Ban.Kind.BAN, reason="")
        stream_stamp(mode=solo, shard=0, now=timezone.now())

    solo = _spread(solo, 4, meanwhile=meanwhile)
    expected = {player: score + 100 for player, score in _expected().items() if player != "p-5"}
    assert _totals(solo) == expected
    for shard in range(4):
        shown = store.read("range", [Slot(solo.pk, shard, solo.generation)], "alltime", "global", 0, -1)
        assert {shard_of(player, 4) for player, _ in store.entries(shown[0].rest[0])} <= {shard}


def test_a_score_of_who_had_not_heard_of_it_counts_once_though_its_player_is_told_anew(solo: Mode) -> None:
    before, player = solo, _pk("p-7")
    solo = _spread(solo, 4)
    submit(before, "p-7", 50, START, 100)  # pending under the one shard there was
    attempt_take_back(mode=solo, player=player, attempt_id=UUID(int=7))
    stream_drain(mode_id=solo.pk, shard=shard_of(player, 4), now=timezone.now())
    drain(solo)
    assert _totals(solo) == _expected(p_7=50 - 7)
    assert not Outbox.objects.exists()


@pytest.mark.parametrize(("before", "after"), [(4, 1), (4, 2), (1, 4), (3, 4)])
def test_pending_rows_of_the_shards_there_were_are_found_by_beat(solo: Mode, before: int, after: int) -> None:
    old = _spread(solo, before)
    solo = _spread(old, after)
    for number in range(PLAYERS):
        submit(old, f"p-{number}", 10, START, 100 + number)
    attempt_take_back(mode=old, player=_pk("p-9"), attempt_id=UUID(int=9))
    while Outbox.objects.exists():
        assert streams_sweep(now=timezone.now())
    assert _totals(solo) == {
        player: score + 10 - (9 if player == "p-9" else 0) for player, score in _expected().items()
    }


def test_a_row_that_cannot_be_read_is_set_aside_wherever_it_was(solo: Mode) -> None:
    old = _spread(solo, 4)
    solo = _spread(old, 2)
    submit(old, "p-1", 10, START, 100)
    Outbox.objects.update(payload=b"not a payload", shard=3)
    submit(old, "p-2", 10, START, 101)
    streams_sweep(now=timezone.now())
    streams_sweep(now=timezone.now())
    assert _totals(solo) == _expected(p_2=10)
    assert SetAside.objects.count() == 1


def test_what_was_set_aside_before_is_tried_again_where_its_players_are(
    solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(solo, "p-1", 10, START, 100)
    with monkeypatch.context() as patched:
        patched.setattr("leaderboards.standings.tell", _raise)
        drain(solo)
    assert SetAside.objects.count() == 1
    solo = _spread(solo, 4)
    assert batches_retry_due(now=timezone.now() + timedelta(minutes=1)) == 1
    drain(solo)
    assert _totals(solo) == _expected(p_1=10)


def _raise(**_: object) -> None:
    raise ValueError("what nobody has thought of")


def test_who_waits_over_the_move_is_told_once_the_boards_show_it(solo: Mode) -> None:
    outcome = submit(solo, "p-1", 10, START, 100)
    told: list[bool] = []

    def wait() -> None:
        try:
            told.append(one_score._shown(outcome, one_score.time.monotonic() + 20))  # noqa: SLF001
        finally:
            connection.close()

    waiting = threading.Thread(target=wait)
    waiting.start()
    solo = _spread(solo, 4)
    waiting.join(0.3)
    assert not told
    for shard in sorted(range(4), key=lambda shard: shard == shard_of(outcome.player, 4)):  # its own last
        waiting.join(0.1)
        assert not told
        stream_drain(mode_id=solo.pk, shard=shard, now=timezone.now())
    waiting.join()
    assert told == [True]
    assert _totals(solo) == _expected(p_1=10)


def test_the_command_spreads_over_the_number_that_is_set_and_leaves_nothing_behind(
    solo: Mode, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild_boards, "GRACE", 0)
    unplayed, dense = make_mode(solo.game, "unplayed"), make_mode(solo.game, "dense", ranking="dense")
    submit(dense, "p-1", 10, START, 100)
    drain(dense)
    settings.SHARDS = 4
    said = StringIO()
    call_command("rebuild_boards", stdout=said, stderr=StringIO())
    assert "over 4 instead of 1 shards" in said.getvalue()
    assert [_now(mode).shards for mode in (solo, unplayed, dense)] == [4, 4, 1]
    assert store.mark(Slot(solo.pk, 0, solo.generation)) is None
    settings.SHARDS = 2
    call_command("rebuild_boards", stdout=said, stderr=StringIO())
    assert _totals(solo) == _expected()
    assert not any(store.boards(Slot(solo.pk, shard, solo.generation + 1)) for shard in range(4))


def test_batches_of_shards_that_are_no_more_are_forgotten_in_time(solo: Mode) -> None:
    solo = _spread(solo, 4)
    for number in range(PLAYERS):
        submit(solo, f"p-{number}", 10, START, 100 + number)
    drain(solo)
    solo = _spread(solo, 1)
    assert Stamp.objects.filter(shard__gt=0).exists()
    stamps_purge(now=timezone.now() + timedelta(days=2))
    assert not Stamp.objects.filter(shard__gt=0).exists()
    assert isinstance(submit(solo, "p-1", 1, START, 200), Outcome)
    drain(solo)
    assert _totals(solo) == {player: score + 10 + (player == "p-1") for player, score in _expected().items()}
