"""What checks with history may look at while a batch is stamped: the log, and the mode's longest board."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from django.db import connection, transaction

from config.errors import Unavailable
from config.sql import numbers
from leaderboards.boards.board import Board, longest_board
from leaderboards.histograms import histograms
from leaderboards.improvements import Improvement, Past, turn
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.reading import merged
from leaderboards.rules.cohort import Cohort

PAST = 50  # attempts of a player
SEEN = 2000  # of these a day that are looked at, whichever are met first: of who plays on and on there are far more
PAST_DAYS = 7  # before the attempt: as many partitions are looked into, and one more
FEWEST = 100  # members of a cohort
HELD = 30.0  # seconds: what all players have changes slowly
_SIZE = 1000  # modes
_DAY_US = 24 * 3600 * 1_000_000
# by index, a day at a time; what is held back tells nothing of what a player can do
_PAST_OF = """
SELECT i.player, a.score, a.at FROM unnest(%(players)s::bigint[], %(received)s::bigint[]) AS i (player, received)
CROSS JOIN LATERAL (
    SELECT d.score, (extract(epoch FROM d.achieved_at) * 1000000)::bigint AS at
    FROM generate_series(%(first)s, %(last)s) AS n (day) CROSS JOIN LATERAL (
        SELECT s.score, s.achieved_at, s.received_at, s.id FROM score_attempts s
        WHERE s.player_id = i.player AND s.mode_id = %(mode)s AND s.state = %(accepted)s
            AND s.received_at >= to_timestamp(0) + %(since)s * interval '1 microsecond'
            AND s.received_at < to_timestamp(0) + i.received * interval '1 microsecond'
            AND s.received_at >= to_timestamp(0) + n.day * interval '24 hours'
            AND s.received_at < to_timestamp(0) + (n.day + 1) * interval '24 hours'
        LIMIT %(seen)s
    ) d ORDER BY d.received_at DESC, d.id DESC LIMIT %(most)s
) a
"""


class LogHistory:
    """As far as it is known now."""

    def __init__(self, mode: Mode, now: datetime) -> None:
        self._mode, self._now, self._turn = mode, now, turn(mode)

    def past(self, some: Sequence[Improvement]) -> Mapping[int, Sequence[Past]]:
        first: dict[int, int] = {}
        for one in some:
            first[one.player] = min(one.received, first.get(one.player, one.received))
        found: dict[int, list[Past]] = {player: [] for player in first}
        for player, score, at in self._rows(first) if first else ():
            found[player].append(Past(score * self._turn, at))
        return found

    def _rows(self, first: Mapping[int, int]) -> list[tuple[int, int, int]]:
        since = min(first.values()) - PAST_DAYS * _DAY_US
        asked: dict[str, str | int] = {
            "players": numbers(first),
            "received": numbers(first.values()),
            "since": since,
            "mode": self._mode.pk,
            "accepted": State.ACCEPTED,
            "most": PAST,
            "seen": SEEN,
            "first": since // _DAY_US,
            "last": max(first.values()) // _DAY_US,
        }
        with (
            transaction.atomic(),
            connection.cursor() as cursor,
        ):  # whatever a check makes of an error, stamping goes on
            cursor.execute(_PAST_OF, asked)
            rows: list[tuple[int, int, int]] = cursor.fetchall()
        return rows

    def cohort(self) -> Cohort | None:
        return cohorts.of(self._mode, self._now)

    def place(self, rank: int) -> int | None:
        board = longest_board(self._mode, at=self._now)
        if board.is_untouched:
            return None
        first = rank - 1 if self._mode.shards == 1 else 0  # which shard has it is only known by merging
        run = merged([answer.rest[0] for answer in board.read("range", first, rank - 1)])
        place = run[rank - 1 - first : rank - first]
        return board.placing.score(place[0][0]) * self._turn if place else None


class Cohorts:
    """Held by this process, for every batch asks for its mode's."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[float, Cohort | None]] = {}

    def of(self, mode: Mode, now: datetime) -> Cohort | None:
        at, found = self._held.get(mode.pk, (float("-inf"), None))
        if time.monotonic() - at < HELD:
            return found
        if len(self._held) >= _SIZE:
            self._held.clear()
        found = _cohort(longest_board(mode, at=now))
        self._held[mode.pk] = time.monotonic(), found
        return found

    def forget(self) -> None:
        self._held.clear()


def _cohort(board: Board) -> Cohort | None:
    with suppress(Unavailable):  # boards that do not answer tell nothing, and stop no score
        histogram = histograms.of(board)
        if histogram.total >= FEWEST:
            return Cohort(histogram, board.placing.base * board.placing.sign)
    return None


cohorts = Cohorts()
