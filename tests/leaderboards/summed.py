"""A mode of sums, the aggregation that shows whatever counts twice, and what its log says about every board."""

import random
import time
from collections import defaultdict
from datetime import UTC, date, datetime
from functools import cache
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config import valkey
from leaderboards.boards.board import Board, board_named
from leaderboards.drain import stream_drain, streams_sweep
from leaderboards.models import Mode, Outbox, Standing
from leaderboards.ranking import page
from leaderboards.services.corrections import attempt_restore, attempt_take_back
from leaderboards.stamp import stream_stamp
from players.models import Ban, Player
from players.services import player_edit
from tests import mortal_acts
from tests.factories import make_game, make_mode, make_player
from tests.mortal import NAME

PLAYERS = 7
LISTED = 3  # of them at least: with all banned there are no boards to lose
SCOPES = ("global", "region:eu", "level:1")
Totals = dict[tuple[int, str, str], int]  # player, window, scope


class Summed:
    def __init__(self, *, shards: int, seed: str) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a mix, not a secret
        game = make_game()
        rules: dict[str, Any] = {
            "min_score": 0,
            "max_score": 100,
            "max_total": 10**9,
            "dimensions": ("region", "level"),
        }
        mode = make_mode(game, aggregation="sum", **rules)
        Mode.objects.filter(pk=mode.pk).update(shards=shards)
        self.mode = Mode.objects.select_related("game").get(pk=mode.pk)
        self.players = [make_player(game) for _ in range(PLAYERS)]
        self.acknowledged: dict[UUID, int] = {}  # attempt, player
        self.taken_back: set[UUID] = set()
        for player in self.players:
            self.submit([self.attempt(player)])
        self.rest()

    # what players and operators do

    def attempt(self, player: Player | None = None, *, player_id: str = "") -> dict[str, Any]:
        level = self.chance.choice(["", "1", "2"])
        return {
            "player_id": player_id or (player or self.chance.choice(self.players)).player_id,
            "score": self.chance.randint(1, 100),
            "attempt_id": str(uuid4()),
            "dimensions": {"level": level} if level else {},
        }

    def submit(self, attempts: list[dict[str, Any]]) -> None:
        mortal_acts.submit(self.mode.pk, attempts)
        names = {one["player_id"] for one in attempts}
        pks = dict(Player.objects.filter(player_id__in=names).values_list("player_id", "pk"))
        self.acknowledged |= {UUID(one["attempt_id"]): pks[one["player_id"]] for one in attempts}

    def correct(self) -> None:
        """A move or a ban, and an attempt that counts no more or again; of players who have scores pending as well."""
        moved, told = self.chance.sample(self.players, 2)
        self.submit([self.attempt(moved), self.attempt(told), self.attempt()])
        banned = Ban.objects.filter(player=moved)
        if self.chance.random() < 0.3 and (banned or Ban.objects.count() < PLAYERS - LISTED):
            if banned:
                banned[0].delete()
            else:
                Ban.objects.create(player=moved, kind=Ban.Kind.SHADOW, reason="r", starts_at=timezone.now())
        else:
            moved.refresh_from_db()
            player_edit(player=moved, fields={"region": "us" if moved.region == "eu" else "eu"})
        self.retell(told)
        self.submit([self.attempt(told)])

    def retell(self, player: Player) -> None:
        own = [attempt for attempt, pk in self.acknowledged.items() if pk == player.pk]
        attempt = self.chance.choice(own)
        change = attempt_restore if attempt in self.taken_back else attempt_take_back
        change(mode=self.mode, player=player.pk, attempt_id=attempt)
        self.taken_back ^= {attempt}

    # what workers and servers do

    def stamp(self) -> None:
        """So that there are several numbers to send."""
        for shard in range(self.mode.shards):
            stream_stamp(mode=self.mode, shard=shard, now=timezone.now())

    def drain(self) -> None:
        for shard in range(Mode.objects.get(pk=self.mode.pk).shards):
            stream_drain(mode_id=self.mode.pk, shard=shard, now=timezone.now())

    def misplace(self) -> None:
        """All that is pending, as if somebody had written it who knew of one shard only."""
        Outbox.objects.update(shards=1, shard=0)

    def lose_everything(self) -> None:
        valkey.client(settings.VALKEY_URL).flushdb()  # this worker's own

    def lose_one_board(self) -> None:
        boards = valkey.client(settings.VALKEY_URL)
        found = sorted(key for key in boards.scan_iter() if boards.type(key) == b"zset")
        boards.delete(self.chance.choice(found))

    def rest(self) -> None:
        """As beat has it, once whoever died has let go: nobody rings for what a dead one left."""
        with connection.cursor() as cursor:
            left = True
            while left:
                cursor.execute(
                    "SELECT FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()", [NAME]
                )
                left = bool(cursor.fetchall())
                time.sleep(0.001)
        streams_sweep(now=timezone.now())
        self.mode.refresh_from_db()

    def take_the_ring(self) -> bool:
        """Whether somebody rang."""
        return bool(valkey.client(settings.BROKER_URL).delete(settings.CELERY_TASK_DEFAULT_QUEUE))

    def answer_the_rings(self) -> None:
        """As the worker does: drains as long as somebody rings, and not otherwise."""
        while self.take_the_ring():
            self.drain()
        self.mode.refresh_from_db()

    # what must be

    def check(self) -> None:
        assert not Outbox.objects.exists()
        standings = self._from_the_log()
        found = Standing.objects.filter(mode=self.mode).values_list("player_id", "window", "scope", "score")
        assert {(player, window, scope): score for player, window, scope, score in found} == standings
        listed = dict(Player.objects.filter(bans=None).values_list("pk", "region"))
        now = datetime.now(UTC)
        for window in _windows(now.date()):
            for scope in SCOPES:
                own = scope if scope.startswith("level") else ""
                expected = {
                    player: score
                    for (player, inside, of), score in standings.items()
                    if (inside, of) == (window, own) and player in listed
                    if own or scope in ("global", f"region:{listed[player]}")
                }
                self._check_board(board_named(mode=self.mode, window=window, scope=scope, at=now), expected)

    def _check_board(self, board: Board, expected: dict[int, int]) -> None:
        shown = page(board, offset=0, limit=1000)
        where = board.window.id, board.scope
        assert {entry.player: entry.score for entry in shown.entries} == expected, where
        assert [entry.score for entry in shown.entries] == sorted(expected.values(), reverse=True), where
        assert shown.total == len(expected), where

    def _from_the_log(self) -> Totals:
        """Each attempt that was acknowledged is in it once, and nothing else."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT attempt_id, player_id, score, achieved_at, state, dimensions ->> 'level' FROM score_attempts"
                " WHERE mode_id = %s",
                [self.mode.pk],
            )
            rows = cursor.fetchall()
        assert len(rows) == len(self.acknowledged)
        assert {attempt: player for attempt, player, *_ in rows} == self.acknowledged
        assert {attempt for attempt, _, _, _, state, _ in rows if state} == self.taken_back
        totals: Totals = defaultdict(int)
        for _, player, score, at, state, level in rows:
            for window in _windows(at.date()) if state == 0 else ():
                for scope in ("", f"level:{level}") if level else ("",):
                    totals[player, window, scope] += score
        return dict(totals)


@cache
def _windows(day: date) -> list[str]:
    year, week, _ = day.isocalendar()
    return [f"daily:{day:%Y-%m-%d}", f"weekly:{year}-W{week:02}", f"monthly:{day:%Y-%m}", "alltime"]
