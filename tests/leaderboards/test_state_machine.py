"""Scores, corrections, crashes and losses in any order: at rest, every board equals a model (board_model.py)."""

import contextlib
import json
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections, transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from config import valkey
from leaderboards import drain, keys, log, outbox, stamp
from leaderboards.boards import store
from leaderboards.boards.board import board_named
from leaderboards.boards.rebuild import shard_rebuild
from leaderboards.boards.store import Slot
from leaderboards.drain import stream_drain
from leaderboards.errors import AttemptConflict
from leaderboards.log import Attempt as Row
from leaderboards.models import Mode, Outbox, Stamp
from leaderboards.outbox import ScoreRow
from leaderboards.ranking import page
from leaderboards.send import stream_send
from leaderboards.services.corrections import attempt_restore, attempt_take_back
from leaderboards.services.rebuilding import mode_rebuild
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.stamp import stream_stamp
from leaderboards.whereabouts import around
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Player
from players.services import player_edit
from tests.cluster import Cluster
from tests.factories import make_game, make_mode, make_player, record_of
from tests.leaderboards.board_model import Attempt, ranked

pytestmark = pytest.mark.django_db(transaction=True)
PLAYERS = 7


@pytest.fixture(autouse=True)
def _few_at_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there is more while what was stamped is sent."""
    monkeypatch.setattr(stamp, "ROWS_A_LOOK", 1)
    monkeypatch.setattr(drain, "_BREATH", 0.0)
    monkeypatch.setattr(drain, "_DEEP_BREATH", 0.0)
    monkeypatch.setattr(drain, "_TURN", 1e9)  # however slow the machine is, it drains to the end


SCOPES = ("global", "region:eu", "level:1")
NUMBERS = st.integers(0, 1000)
# late by seconds or days: still in today's window, out of it, out of the week, out of the month
TOLD = st.tuples(
    st.integers(0, PLAYERS - 1),
    st.integers(0, 4),
    st.integers(0, 5),
    st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 40]),
    st.sampled_from(["", "1", "2"]),
)


class Spine(RuleBasedStateMachine):
    aggregation = "best"
    ranking = "unique"

    @initialize(
        order=st.sampled_from(["desc", "asc"]),
        tie_break=st.sampled_from(["earliest", "latest", "none"]),
        shards=st.sampled_from([1, 1, 4]),
        levels=st.sampled_from([1, 1000]),
        first=st.lists(TOLD, min_size=3, max_size=12),
    )
    def begin(self, order: str, tie_break: str, shards: int, levels: int, first: list[Any]) -> None:
        """With scores, some of them on the boards: Hypothesis leaves some rules out of each walk, perhaps `submit`."""
        self._boards.flushdb()  # this worker's own
        self.start = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=10)
        total = {"max_total": 100_000} if self.aggregation == "sum" else {}
        game = make_game()
        mode = make_mode(
            game,
            aggregation=self.aggregation,
            ranking=self.ranking,
            order=order,
            tie_break=tie_break,
            min_score=0,
            max_score=100,
            dimensions=("region", "level"),
            dimension_values=levels,
            **total,
        )
        created = self.start - timedelta(days=60)
        Mode.objects.filter(pk=mode.pk).update(shards=1 if self.ranking == "dense" else shards, created_at=created)
        self.mode = Mode.objects.select_related("game").get(pk=mode.pk)
        self.remembered = copy(self.mode)  # by those who write, who may have read it a while ago
        self.players = [make_player(game).pk for _ in range(PLAYERS)]
        self.names = dict(Player.objects.filter(game=game).values_list("pk", "player_id"))
        self.region = dict.fromkeys(self.players, "")
        self.banned: set[int] = set()
        self.levels: set[str] = set()  # that have been brought, of as many as there is room for
        self.told: dict[UUID, Attempt] = {}
        self.copy: dict[bytes, bytes] = {}
        self.slow: tuple[Any, UUID, Attempt] | None = None
        self.submit(first[1:])
        self.remembered.refresh_from_db()
        self.drain_one(0)
        self.submit(first[:1])

    # what players and operators do

    @rule(told=st.lists(TOLD, min_size=1, max_size=5))
    def submit(self, told: list[tuple[int, int, int, int, str]]) -> None:
        new = {uuid4(): self._attempt(*one) for one in told}
        for attempt_id, outcome in zip(new, self._send(new), strict=True):
            assert isinstance(outcome, Outcome)
            assert not outcome.duplicate
            self._is_logged(new[attempt_id], outcome)
        self.told |= new

    @precondition(lambda self: self.told)
    @rule(numbers=st.lists(NUMBERS, min_size=1, max_size=4), told=TOLD)
    def retry_with_a_new_one(self, numbers: list[int], told: tuple[int, int, int, int, str]) -> None:
        again = dict(self._pick(number) for number in numbers)
        new_id, new = uuid4(), self._attempt(*told)
        *repeated, outcome = self._send(again | {new_id: new})
        for one, known in zip(again.values(), repeated, strict=True):
            assert isinstance(known, Outcome)
            assert known.duplicate
            assert bool(known.logged.left_out) == one.left_out
        assert isinstance(outcome, Outcome)
        self._is_logged(new, outcome)
        self.told[new_id] = new

    @precondition(lambda self: self.told and not self.slow)
    @rule(told=TOLD)
    def begin_a_slow_commit(self, told: tuple[int, int, int, int, str]) -> None:
        """Numbered by the log now, seen by anybody only later: after a ban, a move, a whole batch more."""
        who, score, seconds, _, level = told
        one, attempt_id, every = self._attempt(who, score, seconds, 0, level), uuid4(), 0b1111
        levels = {"level": level} if level else {}
        own, connections["default"] = connections["default"], connection.copy()
        try:
            self.slow = connections["default"], attempt_id, one
            connection.set_autocommit(False)
            row = Row(self.mode.pk, one.player, attempt_id, score, one.at, every, dimensions=json.dumps(levels))
            (one.id,) = log.append([row], arrival=log.enter()).values()
            at = int(one.at.timestamp()) * 1_000_000
            pending = ScoreRow(one.player, score, at, one.id, every, levels)
            outbox.add_scores(self.mode.pk, self.remembered.shards, [pending], arrived=0)
        finally:
            connections["default"] = own

    @precondition(lambda self: self.slow)
    @rule()
    def end_the_slow_commit(self) -> None:
        assert self.slow
        slow, attempt_id, one = self.slow
        slow.commit()
        slow.close()
        self.told[attempt_id], self.slow = one, None

    @precondition(lambda self: self.told)
    @rule(number=NUMBERS)
    def retry_with_other_content(self, number: int) -> None:
        attempt_id, one = self._pick(number)
        (outcome,) = self._send({attempt_id: Attempt(one.player, one.score + 1, one.at, one.level)})
        assert isinstance(outcome, AttemptConflict)

    @rule(who=st.integers(0, PLAYERS - 1), region=st.sampled_from(["eu", "eu", "us", ""]))
    def move(self, who: int, region: str) -> None:
        player = self.players[who]
        player_edit(player=Player.objects.get(pk=player), fields={"region": region})
        self.region[player] = region

    @rule(who=st.integers(0, PLAYERS - 1))
    def ban_or_unban(self, who: int) -> None:
        player = self.players[who]
        with transaction.atomic():
            if player in self.banned:
                Ban.objects.filter(player_id=player).delete()
            else:
                Ban.objects.create(player_id=player, kind=Ban.Kind.SHADOW, reason="r", starts_at=self.start)
        self.banned ^= {player}

    @precondition(lambda self: self.told)
    @rule(number=NUMBERS)
    def take_back_or_give_back(self, number: int) -> None:
        attempt_id, one = self._pick(number)
        change = attempt_take_back if one.counts else attempt_restore
        change(mode=self.remembered, player=one.player, attempt_id=attempt_id)
        one.counts = not one.counts

    # what workers and servers do

    @rule(number=NUMBERS)
    def drain_one(self, number: int) -> None:
        stream_drain(mode_id=self.mode.pk, shard=number % self.mode.shards, now=datetime.now(UTC))

    @precondition(lambda self: self.told)
    @rule(number=NUMBERS)
    def crash_between_stamping_and_sending(self, number: int) -> None:
        stream_stamp(mode=self.mode, shard=number % self.mode.shards, now=datetime.now(UTC))

    @rule(before=st.lists(TOLD, min_size=1, max_size=3), number=NUMBERS, after=st.lists(TOLD, min_size=1, max_size=3))
    def crash_after_sending(self, before: list[Any], number: int, after: list[Any]) -> None:
        """And more comes before anybody looks again: it is not part of what was sent."""
        self.submit(before)
        for shard in range(self.mode.shards):
            stamped = stream_stamp(mode=self.mode, shard=shard, now=datetime.now(UTC))
            fresh = stamped.fresh if number % 2 else []  # at hand, or read again
            with contextlib.suppress(store.NotBuilt):  # nothing of it yet, or lost: the drainer sees to it
                stream_send(mode=self.mode, shard=shard, upto=stamped.seq, fresh=fresh)
        self.submit(after)

    @rule(number=NUMBERS, back=st.integers(1, 3))
    def lose_the_mark_and_send_again(self, number: int, back: int) -> None:
        """The tail of a failover: the boards show more than their mark says."""
        slot = Slot(self.mode.pk, number % self.mode.shards, self.mode.generation)
        mark = store.mark(slot)
        kept = Stamp.objects.filter(mode=self.mode, shard=slot.shard).values_list("seq", flat=True)
        if mark and mark - back >= 0 and set(range(mark - back + 1, mark + 1)) <= set(kept):
            self._boards.hset(keys.state(slot.mode, slot.shard, slot.generation), "mark", mark - back)
            with contextlib.suppress(store.NotBuilt):  # a board was lost as well
                stream_send(mode=self.mode, shard=slot.shard, upto=mark)

    @rule()
    def lose_everything(self) -> None:
        self._boards.flushdb()

    @rule(number=NUMBERS)
    def lose_one_board(self, number: int) -> None:
        boards = sorted(key for key in self._boards.scan_iter() if self._boards.type(key) == b"zset")
        if boards:
            self._boards.delete(boards[number % len(boards)])

    @rule()
    def keep_a_copy(self) -> None:
        self.copy = {key: self._boards.dump(key) for key in self._boards.scan_iter()}

    @precondition(lambda self: self.copy)
    @rule()
    def restore_the_older_copy(self) -> None:
        self._boards.flushdb()
        for key, value in self.copy.items():
            self._boards.restore(key, 0, value)

    @rule()
    def forget_old_batches(self) -> None:
        """A day later: what was sent is not kept for ever."""
        for shard in range(self.mode.shards):
            mark = store.mark(Slot(self.mode.pk, shard, self.mode.generation)) or 0
            Stamp.objects.filter(mode=self.mode, shard=shard, seq__lte=mark).delete()

    @rule(number=NUMBERS)
    def rebuild(self, number: int) -> None:
        shard, now = number % self.mode.shards, datetime.now(UTC)
        shard_rebuild(mode=self.mode, shard=shard, now=now)

    @rule()
    def make_the_next_generation(self) -> None:
        mode_rebuild(mode=self.mode, now=datetime.now(UTC))

    @precondition(lambda self: self.ranking != "dense")
    @rule(shards=st.sampled_from([1, 3, 4]), heard=st.booleans())
    def spread_over_other_shards(self, shards: int, heard: bool) -> None:
        """Whether or not those who write have heard of it."""
        mode_rebuild(mode=self.mode, shards=shards, now=datetime.now(UTC))
        assert self.mode.shards == shards
        if heard:
            self.remembered = copy(self.mode)

    @rule(offset=st.integers(0, PLAYERS), limit=st.integers(1, PLAYERS))
    def come_to_rest(self, offset: int, limit: int) -> None:
        now = datetime.now(UTC)
        # twice: a lost board that no pending batch touches is met by a reader, whose ring is the second
        for shard in (*range(self.mode.shards), *range(self.mode.shards)):
            stream_drain(mode_id=self.mode.pk, shard=shard, now=now)
        assert not Outbox.objects.filter(mode=self.mode).exists()
        self.mode.refresh_from_db()
        year, week, _ = now.isocalendar()
        for window in (f"daily:{now:%Y-%m-%d}", f"weekly:{year}-W{week:02}", f"monthly:{now:%Y-%m}", "alltime"):
            for scope in SCOPES:
                self._compare(window, scope, now, offset, limit)

    def teardown(self) -> None:
        if hasattr(self, "slow"):
            if self.slow:
                self.end_the_slow_commit()
            self.come_to_rest(0, PLAYERS)

    def _compare(self, window: str, scope: str, now: datetime, offset: int, limit: int) -> None:
        board = board_named(mode=self.mode, window=window, scope=scope, at=now)
        assert board.window.id == window
        expected = ranked(self.mode, [one for one in self.told.values() if self._is_on(one, window, scope)])
        found = page(board, offset=0, limit=100)
        assert [(one.rank, one.player, one.score) for one in found.entries] == expected, (window, scope)
        assert found.total == len(expected)
        part = page(board, offset=offset, limit=limit)
        assert part.entries == found.entries[offset : offset + limit]
        if window != "alltime":
            return
        listed = {entry.player: index for index, entry in enumerate(found.entries)}
        for player in self.players:
            totals, (where,) = around(board, [(player, 2)])
            assert totals.total == len(expected)
            if player not in listed:
                assert where is None
                continue
            index = listed[player]
            assert where is not None
            assert where.own == found.entries[index]
            assert where.above == found.entries[max(0, index - 2) : index]
            assert where.below == found.entries[index + 1 : index + 3]

    def _is_on(self, one: Attempt, window: str, scope: str) -> bool:
        year, week, _ = one.at.isocalendar()
        own = {f"daily:{one.at:%Y-%m-%d}", f"weekly:{year}-W{week:02}", f"monthly:{one.at:%Y-%m}", "alltime"}
        scopes = {"global", f"region:{self.region[one.player]}"} | (set() if one.left_out else {f"level:{one.level}"})
        return one.counts and one.player not in self.banned and window in own and scope in scopes

    def _is_logged(self, one: Attempt, outcome: Outcome) -> None:
        one.id = outcome.logged.id
        if one.level and one.level not in self.levels:
            if len(self.levels) < self.mode.dimension_values:
                self.levels.add(one.level)
            else:
                one.left_out = True
        assert outcome.logged.left_out == ({"level": one.level} if one.left_out else {})

    def _attempt(self, who: int, score: int, seconds: int, days: int, level: str) -> Attempt:
        return Attempt(self.players[who], score, self.start + timedelta(days=-days, seconds=seconds), level)

    def _pick(self, number: int) -> tuple[UUID, Attempt]:
        return list(self.told.items())[number % len(self.told)]

    def _send(self, attempts: dict[UUID, Attempt]) -> list[Any]:
        items = [
            Item(
                self.remembered,
                Submission(
                    player_id=self.names[one.player],
                    score=one.score,
                    achieved_at=one.at,
                    attempt_id=attempt_id,
                    dimensions={"level": one.level} if one.level else {},
                ),
            )
            for attempt_id, one in attempts.items()
        ]
        return scores_submit(
            game=record_of(self.mode.game), caller=Caller(Kind.KEY, game=self.mode.game.slug), items=items
        )

    @property
    def _boards(self) -> Any:
        return valkey.client(django_settings.VALKEY_URL)


def _walk(machine: type[Spine], *, examples: int, **rules: str) -> None:
    few = settings(
        max_examples=examples,
        stateful_step_count=30,
        phases=[Phase.generate],  # a failure is told as it was found: shrinking takes minutes here
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(type("Spine", (machine,), rules), settings=few)


@pytest.mark.parametrize("aggregation", ["best", "sum", "latest"])
@pytest.mark.parametrize("ranking", ["unique", "competition", "dense"])
def test_boards_at_rest_equal_the_model(aggregation: str, ranking: str) -> None:
    _walk(Spine, examples=10, aggregation=aggregation, ranking=ranking)


@pytest.mark.parametrize(("aggregation", "ranking"), [("best", "unique"), ("sum", "competition"), ("latest", "dense")])
def test_so_they_do_on_a_cluster(on_a_cluster: Cluster, aggregation: str, ranking: str) -> None:
    _walk(Spine, examples=4, aggregation=aggregation, ranking=ranking)
