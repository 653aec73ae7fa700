"""Boards are thrown away, altered and made again from PostgreSQL, while scores keep arriving: they end up right."""

import threading
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from anticheat.models import AuditEntry
from config import valkey
from config.wire import Exact
from leaderboards import keys, standings
from leaderboards.boards import store
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.drain import stream_drain, streams_sweep
from leaderboards.management.commands import rebuild_boards
from leaderboards.models import Mode, Outbox, Stamp, Standing, Stream
from leaderboards.outbox import shard_of
from leaderboards.rules.windows import window_by_id
from leaderboards.services import rebuilding, reconciling
from leaderboards.services.housekeeping import stamps_purge, standings_purge
from leaderboards.services.rebuilding import RebuildUnderWay, mode_rebuild, mode_tidy
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.stamp import Last, stream_stamp
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Player
from tests.factories import make_game, make_mode, record_of
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import board, submit

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture(params=[1, 3])
def solo(request: pytest.FixtureRequest) -> Mode:
    mode = make_mode(make_game("arena"), aggregation="sum", min_score=0, max_score=1000, max_total=1_000_000)
    Mode.objects.update(shards=request.param)
    mode.refresh_from_db()
    sent = [
        Submission(player_id=f"p-{number}", score=number, achieved_at=START, attempt_id=UUID(int=number))
        for number in range(20)
    ]
    caller = Caller(Kind.KEY, game=mode.game.slug)
    scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, one) for one in sent])
    drain(mode)
    return mode


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild_boards, "GRACE", 0)


def _server() -> Any:
    return valkey.client(settings.VALKEY_URL)


def _listed(mode: Mode, window: str = "alltime") -> list[str]:
    mode.refresh_from_db()
    names = dict(Player.objects.values_list("pk", "player_id"))
    return [str(names[pk]) for pk, _ in board(mode, window)]


ALL = [f"p-{number}" for number in reversed(range(20))]


def test_a_rebuild_shows_the_next_generation_and_leaves_nothing_of_the_last(solo: Mode) -> None:
    said = StringIO()
    call_command("rebuild_boards", game="arena", mode="solo", window="alltime", stdout=said, stderr=StringIO())
    assert _listed(solo) == ALL
    assert solo.generation == 2
    assert "generation 2" in said.getvalue()
    assert not [key for key in _server().scan_iter("lb:*") if b":g1:" in key]
    submit(solo, "p-0", 500, START, 100)
    drain(solo)
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_scores_that_arrive_at_each_step_of_a_rebuild_count_once(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = iter(range(1000, 2000))

    def arriving(step: str) -> None:
        real = getattr(rebuilding, step)

        def with_scores(*args: Any, **kwargs: Any) -> Any:
            submit(solo, "p-0", 100, START, next(attempts))
            drain(solo)
            done = real(*args, **kwargs)
            submit(solo, "p-0", 100, START, next(attempts))
            drain(solo)
            return done

        monkeypatch.setattr(rebuilding, step, with_scores)

    for step in ("generation_fill", "_catch_up", "_switch"):
        arriving(step)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    drain(solo)
    assert _listed(solo) == ["p-0", *ALL[:-1]]
    solo.refresh_from_db()
    placing = dict(board(solo, "alltime"))
    monkeypatch.undo()
    assert Standing.objects.filter(window="alltime", player__player_id="p-0").get().score == 600
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    solo.refresh_from_db()
    assert dict(board(solo, "alltime")) == placing, "both generations say the same"


def test_at_the_switch_the_new_boards_show_all_that_the_old_did(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    real = rebuilding._switch  # noqa: SLF001

    def late(mode: Mode, generation: int) -> None:
        submit(solo, "p-0", 500, START, 100)
        drain(solo)
        real(mode, generation)

    monkeypatch.setattr(rebuilding, "_switch", late)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_while_it_switches_nothing_reaches_the_old_boards_alone(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a rank that a reader has seen would be gone with the switch."""
    real, shown = rebuilding._switch, []  # noqa: SLF001

    def consume() -> None:
        try:
            submit(solo, "p-0", 500, START, 100)
            drain(solo)
            shown.extend(_listed(solo))
        finally:
            connection.close()

    def switch(mode: Mode, generation: int) -> None:
        send = rebuilding.slot_send

        def and_consume(**sent: Any) -> None:
            send(**sent)
            if sent["slot"].shard == mode.shards - 1 and not shown:  # every stream is held by now
                consumer = threading.Thread(target=consume)
                consumer.start()
                consumer.join()

        with monkeypatch.context() as inside:
            inside.setattr(rebuilding, "slot_send", and_consume)
            real(mode, generation)

    monkeypatch.setattr(rebuilding, "_switch", switch)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    assert _listed(solo) == shown == ALL
    assert all(valkey.cache_get(keys.bell(solo.pk, shard)) for shard in range(solo.shards)), "whoever was sent away"
    drain(solo)
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_readers_find_the_old_boards_until_the_new_are_whole(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = rebuilding._catch_up  # noqa: SLF001

    def looking(mode: Mode, generation: int) -> None:
        seen.append(_listed(solo))
        real(mode, generation)

    monkeypatch.setattr(rebuilding, "_catch_up", looking)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now(), progress=lambda _: seen.append(_listed(solo)))
    assert len(seen) == 1 + 4 * solo.shards, "while each window was filled, and after"
    assert [one for one in [*seen, _listed(solo)] if one != ALL] == []


def test_scores_that_arrive_while_entries_are_read_are_sent_before_the_streams_are_held(
    solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[int] = []
    behind: list[int] = []
    real = rebuilding._switch  # noqa: SLF001

    def arrive() -> None:
        try:
            for number in range(100, 108):
                submit(solo, "p-0", 100, START, number)
                drain(solo)
        finally:
            connection.close()

    def switch(mode: Mode, generation: int) -> None:
        for shard, seq in rebuilding._numbers(mode):  # noqa: SLF001
            behind.append(seq - (store.mark(Slot(mode.pk, shard, generation)) or 0))
        real(mode, generation)

    def progress(entries: int) -> None:
        if not arrived:
            consumer = threading.Thread(target=arrive)
            consumer.start()
            consumer.join()
        arrived.append(entries)

    monkeypatch.setattr(rebuilding, "_switch", switch)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now(), progress=progress)
    assert max(behind) <= rebuilding._NEAR  # noqa: SLF001
    for window in ("alltime", *Standing.objects.exclude(window="alltime").values_list("window", flat=True).distinct()):
        assert _listed(solo, window) == ["p-0", *ALL[:-1]], window


@pytest.mark.parametrize("loss", ["batches", "boards"])
def test_a_rebuild_that_loses_what_it_needs_starts_over(solo: Mode, monkeypatch: pytest.MonkeyPatch, loss: str) -> None:
    real, tries = rebuilding._catch_up, []  # noqa: SLF001

    def losing(mode: Mode, generation: int) -> None:
        tries.append(generation)
        if len(tries) == 1:
            submit(solo, "p-0", 500, START, 100)
            drain(solo)
            if loss == "batches":
                Stamp.objects.all().delete()
            else:
                _server().flushdb()
        real(mode, generation)

    monkeypatch.setattr(rebuilding, "_catch_up", losing)
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    assert tries == [2, 2]
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_two_rebuilds_of_one_mode_do_not_meet(solo: Mode) -> None:
    with rebuilding._alone(solo), pytest.raises(RebuildUnderWay):  # noqa: SLF001
        mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())


def test_a_new_value_of_a_dimension_does_not_wait_for_a_rebuild(solo: Mode) -> None:
    Mode.objects.update(dimensions=["level"])
    solo.refresh_from_db()
    sent = Submission(player_id="p-0", score=Exact(1), dimensions={"level": "7"})
    caller = Caller(Kind.KEY, game="arena")
    with rebuilding._alone(solo), connection.cursor() as cursor:  # noqa: SLF001
        cursor.execute("SET lock_timeout = '2s'")
        (outcome,) = scores_submit(game=record_of(solo.game), caller=caller, items=[Item(solo, sent)])
        cursor.execute("RESET lock_timeout")
    assert isinstance(outcome, Outcome)


def test_a_slot_emptied_while_it_is_filled_is_not_taken_for_whole(solo: Mode) -> None:
    slot = Slot(solo.pk, 0, 7)
    token = store.begin(slot)
    _server().flushdb()
    with pytest.raises(NotBuilt):
        store.fill(slot, token, [], width=0)
    with pytest.raises(NotBuilt):
        store.built(slot, token, 1, at=0)


def test_what_was_stamped_for_the_last_generation_reaches_the_next(solo: Mode) -> None:
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now())
    mode_tidy(mode=Mode.objects.get())
    submit(solo, "p-0", 500, START, 100)
    drain(solo)  # by a drainer that met the mode before
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_a_switch_between_looking_and_stamping_loses_nothing(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[int] = []

    def late(*, mode: Mode, shard: int, now: datetime) -> Last:
        if not met:
            met.append(mode_rebuild(mode=Mode.objects.get(), now=now))
        return stream_stamp(mode=mode, shard=shard, now=now)

    monkeypatch.setattr("leaderboards.drain.stream_stamp", late)
    submit(solo, "p-0", 500, START, 100)
    stream_drain(mode_id=solo.pk, shard=shard_of(Player.objects.get(player_id="p-0").pk, solo.shards), now=START)
    assert (met, _listed(solo)) == ([2], ["p-0", *ALL[:-1]])


def test_a_rebuild_makes_no_boards_of_windows_that_are_over(solo: Mode) -> None:
    mode_rebuild(mode=Mode.objects.get(), now=timezone.now() + timedelta(days=400))
    solo.refresh_from_db()
    for shard in range(solo.shards):
        assert store.boards(Slot(solo.pk, shard, solo.generation)) == {("alltime", "global")}
    assert _listed(solo) == ALL


def _flush(mode: Mode) -> None:
    _server().flushdb()


def _functions_gone(mode: Mode) -> None:
    _server().function_flush()


def _from_another_history(mode: Mode) -> None:
    for shard in range(mode.shards):
        _server().hset(keys.state(mode.pk, shard, mode.generation), "mark", 10_000)


def _older(mode: Mode) -> None:
    Stream.objects.update(seq=5000)


@pytest.mark.parametrize("harm", [_flush, _functions_gone, _from_another_history, _older])
def test_what_valkey_loses_heals_without_a_command(solo: Mode, harm: Any) -> None:
    harm(solo)
    streams_sweep(now=timezone.now())
    assert _listed(solo) == ALL
    for stream in Stream.objects.all():
        assert store.check(Slot(solo.pk, stream.shard, solo.generation)) == stream.seq


def test_a_stream_that_fails_does_not_stop_the_others(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    real = standings.tell

    def failing(*, mode: Mode, **rest: Any) -> Any:
        if mode.pk == solo.pk:
            raise OperationalError("the disk is full")
        return real(mode=mode, **rest)

    monkeypatch.setattr(standings, "tell", failing)
    submit(solo, "p-0", 500, START, 100)
    other = make_mode(make_game("other"), "duel")
    submit(other, "q-2", 1, START, 2)
    streams_sweep(now=timezone.now())
    assert _listed(other) == ["q-2"]
    assert Outbox.objects.count() == 1, "what failed is still there"
    monkeypatch.undo()
    streams_sweep(now=timezone.now())
    assert _listed(solo) == ["p-0", *ALL[:-1]]


def test_a_dropped_board_heals_once_a_reader_has_rung(solo: Mode) -> None:
    _server().delete(keys.board(solo.pk, 0, solo.generation, "alltime", "global"))
    with pytest.raises(NotBuilt):
        _listed(solo)
    drain(solo)
    assert _listed(solo) == ALL


def _first_board(mode: Mode) -> str:
    return keys.board(mode.pk, 0, mode.generation, "alltime", "global")


def _altered(mode: Mode) -> None:
    name = _first_board(mode)
    _server().zadd(name, {_server().zrange(name, 0, 0)[0]: 2**52})


def _dropped(mode: Mode) -> None:
    _server().delete(_first_board(mode))


def _added(mode: Mode) -> None:
    _server().zadd(_first_board(mode), {store.member(10**9): 2**52})


def _exchanged(mode: Mode) -> None:
    name = _first_board(mode)
    _server().zrem(name, _server().zrange(name, 0, 0)[0])
    _server().zadd(name, {store.member(10**9): 2**52})


def _invented(mode: Mode) -> None:
    name = keys.board(mode.pk, 0, mode.generation, "alltime", "country:XX")
    _server().zadd(name, {store.member(10**9): 1})
    _server().hset(keys.sizes(mode.pk, 0, mode.generation), name, "1:0:0")


@pytest.mark.parametrize("harm", [_altered, _dropped, _added, _exchanged, _invented])
def test_reconcile_all_finds_and_repairs_what_was_altered(solo: Mode, harm: Any) -> None:
    harm(solo)
    said = StringIO()
    call_command("reconcile", all=True, stdout=said)
    assert "repaired  arena/solo shard 0" in said.getvalue()
    assert _listed(solo) == ALL
    said = StringIO()
    call_command("reconcile", all=True, stdout=said)
    assert said.getvalue() == "80 entries compared, 0 differed, 0 misplaced.\n"
    assert not _server().exists(keys.board(solo.pk, 0, solo.generation, "alltime", "country:XX"))


@pytest.mark.parametrize("harm", [_altered, _dropped, _added])
def test_a_sample_that_meets_the_altered_repairs_it(solo: Mode, monkeypatch: pytest.MonkeyPatch, harm: Any) -> None:
    monkeypatch.setattr(reconciling, "randrange", lambda _: 0)
    assert not reconciling.reconcile_sample(now=timezone.now()).differing
    harm(solo)
    assert reconciling.reconcile_sample(now=timezone.now()).repaired == ["arena/solo shard 0"]
    assert _listed(solo) == ALL


def test_boards_on_their_way_are_not_taken_for_wrong(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciling, "randrange", lambda _: 0)
    monkeypatch.setattr("leaderboards.drain.stream_send", lambda **_: None)
    submit(solo, "p-0", 500, START, 100)
    drain(solo)
    found = reconciling.reconcile_sample(now=timezone.now())
    assert (found.differing, found.repaired) == ({}, [])
    found = reconciling.reconcile_all(now=timezone.now())
    assert (found.differing, found.repaired) == ({}, [])
    assert _listed(solo) == ["p-0", *ALL[:-1]], "what was stamped is sent first"


def test_reconcile_moves_a_player_whom_no_correction_reached(solo: Mode) -> None:
    Player.objects.filter(player_id="p-19").update(country="FR")
    said = StringIO()
    call_command("reconcile", all=True, stdout=said)
    assert "moved     1 players" in said.getvalue()
    drain(solo)
    assert [pk for pk, _ in board(solo, "alltime", "country:FR")] == [Player.objects.get(player_id="p-19").pk]


def test_old_batches_go_once_the_boards_show_them(solo: Mode) -> None:
    now = timezone.now()
    other = make_mode(make_game("other"), "duel")
    submit(other, "q-1", 1, START, 1)
    stream_stamp(mode=other, shard=0, now=now)  # but not sent
    stamps = Stamp.objects.count()
    assert stamps_purge(now=now) == 0
    mark = keys.state(solo.pk, 0, solo.generation)
    Stamp.objects.filter(mode=solo, shard=0, seq=1).update(seq=7)  # beyond what the boards show
    kept = {(solo.pk, 0, 7), (other.pk, 0, 1)}
    if solo.shards > 1:
        _server().hset(keys.state(solo.pk, 2, solo.generation), "mark", 0)  # behind the others
        kept.add((solo.pk, 2, 1))
    assert stamps_purge(now=now + timedelta(days=2)) == stamps - len(kept)
    assert set(Stamp.objects.values_list("mode_id", "shard", "seq")) == kept
    assert _server().hget(mark, "mark") == b"1"


def test_standings_go_with_their_boards_and_records_stay(solo: Mode) -> None:
    now = timezone.now()
    day = next(window for window in Standing.objects.values_list("window", flat=True) if window.startswith("daily:"))
    west = make_mode(solo.game, "west", timezone="America/Los_Angeles")  # where that day ends hours later
    Mode.objects.update(first_score_at=now)
    player = Player.objects.all()[0]
    Standing.objects.create(mode=west, player=player, window=day, scope="", score=1, achieved_at=now, attempt=1)
    assert standings_purge(now=now) == 0
    ended = window_by_id(day, ZoneInfo("UTC")).ends_at
    assert ended is not None
    assert standings_purge(now=ended + timedelta(days=settings.HOT_DAYS["daily"], hours=1)) == 20, "the day's"
    assert Standing.objects.filter(mode=west).count() == 1, "is still hot there"
    Standing.objects.filter(mode=west).delete()
    assert standings_purge(now=now + timedelta(days=400)) == 40
    assert set(Standing.objects.values_list("window", flat=True)) == {"alltime"}
    assert _listed(solo) == ALL


def test_a_stamp_that_cannot_be_read_stops_no_stream(solo: Mode) -> None:
    """The standings have what it did, so the boards are made again from them."""
    submit(solo, "p-3", 500, START, 100)
    for shard in range(solo.shards):
        stream_stamp(mode=solo, shard=shard, now=timezone.now())
    Stamp.objects.update(effect=b"not ours")
    submit(solo, "p-4", 600, START, 101)
    drain(solo)
    assert _listed(solo)[:2] == ["p-4", "p-3"]


@pytest.mark.parametrize("board_too", [False, True])
def test_what_boards_should_be_is_lost_and_no_reader_is_told_of_an_empty_board(solo: Mode, board_too: bool) -> None:
    """Without it a board that is gone as well would look like one that never had a member."""
    _server().delete(keys.sizes(solo.pk, 0, solo.generation))
    if board_too:
        _server().delete(keys.board(solo.pk, 0, solo.generation, "alltime", "global"))
    with pytest.raises(NotBuilt):
        board(solo, "alltime")
    streams_sweep(now=timezone.now())
    assert _listed(solo) == ALL


@pytest.mark.parametrize("look", [reconciling.reconcile_sample, reconciling.reconcile_all])
def test_altered_keys_of_dense_ranks_are_noticed_and_repaired(look: Any) -> None:
    """As many as there should be, but others: nothing else would ever say so."""
    mode = make_mode(make_game("arena"), ranking="dense", min_score=0, max_score=1000)
    for number in range(3):
        submit(mode, f"p-{number}", number, START, number)
    drain(mode)
    distinct = f"{keys.board(mode.pk, 0, mode.generation, 'alltime', 'global')}:k"
    before = _server().zrange(distinct, 0, -1, withscores=True)
    _server().zincrby(distinct, 7, "1")
    assert len(look(now=timezone.now()).repaired) == 1
    assert _server().zrange(distinct, 0, -1, withscores=True) == before
    assert not look(now=timezone.now()).differing


@pytest.mark.parametrize("value", ["k", "n", "7"])
def test_a_stranger_on_the_board_of_any_value_is_found(value: str) -> None:
    mode = make_mode(make_game("arena"), ranking="dense", dimensions=("level",))
    sent = Submission(player_id="p-1", score=Exact(5), dimensions={"level": value})
    scores_submit(game=record_of(mode.game), caller=Caller(Kind.KEY, game="arena"), items=[Item(mode, sent)])
    drain(mode)
    slot, scope = Slot(mode.pk, 0, mode.generation), f"level:{value}"
    assert {found for window, found in store.boards(slot) if window == "alltime"} == {"global", scope}
    name = keys.board(mode.pk, 0, mode.generation, "alltime", scope)
    _server().zadd(name, {store.member(99): 1})
    _server().hset(keys.sizes(mode.pk, 0, mode.generation), name, "2:0:1")  # as if it belonged there
    assert reconciling.reconcile_all(now=timezone.now()).differing[f"arena/solo alltime {scope}"] == 1


def test_the_sizes_of_boards_that_have_expired_are_forgotten() -> None:
    slot = Slot(1, 0, 1)
    store.built(slot, store.begin(slot), 0, at=1)
    for number in range(1, 201):
        changes = [
            store.Change(f"daily:{number}", "global", 1000, [(1, 1)], []),
            store.Change("a", "b", 0, [(1, 1)], []),
        ]
        store.apply(slot, number, changes, at=1, width=0)
    assert 1 <= _server().hlen(keys.sizes(1, 0, 1)) < 20
    assert store.check(slot) == 200


def test_a_rebuild_is_in_the_audit(solo: Mode) -> None:
    call_command("rebuild_boards", game="arena", mode="solo", stdout=StringIO(), stderr=StringIO())
    entry = AuditEntry.objects.get(verb="boards.rebuild")
    assert (entry.command, entry.game, entry.mode) == ("rebuild_boards", solo.game_id, solo.pk)
    assert entry.after["generation"] == entry.before["generation"] + 1
