"""Standings in PostgreSQL: what the boards show. Kept by stamping, in stamping's own snapshot."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from leaderboards import log, placements
from leaderboards.effects import Gathering, Put
from leaderboards.hot import is_hot
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.placements import NOWHERE, Listing
from leaderboards.rules import windows
from leaderboards.rules.aggregation import Told, fold
from leaderboards.rules.instants import instant_of
from leaderboards.rules.mode import PLAYERS_OWN


class Row(NamedTuple):
    player: int
    window: str
    scope: str  # a submitted one, or "" for all that come from the player


@dataclass(frozen=True, slots=True)
class Pending:
    """What a stream has waiting. Of players to be told anew from the log, no scores: they are in it."""

    scores: list[tuple[int, ScoreRow]]  # when it arrived, and what
    placed: set[int]
    retold: set[int]


def tell(*, mode: Mode, waiting: Pending, now: datetime) -> Gathering:
    """Folds what is pending into the standings, and says what that does to the boards."""
    placed, retold = waiting.placed, waiting.retold
    players = sorted({row.player for _, row in waiting.scores} | placed | retold)
    had, wanted = placements.had(mode, players), placements.wanted(players, now)
    telling = _Telling(mode, _load(mode, {row.player for _, row in waiting.scores}))
    for arrived, row in waiting.scores:
        telling.add(row, arrived)
    changed, beyond = telling.changed, telling.beyond
    gone: set[Row] = set()
    if retold:
        before, again = _load(mode, retold), _from_log(mode, retold)
        gone = before.keys() - again.changed.keys()
        changed |= again.changed
        beyond += again.beyond
        _delete(mode, gone)
    log.quarantine(beyond, reason="The total would leave the range that the mode allows.")
    _save(mode, changed)
    moved = [player for player in players if had.get(player) != wanted[player]]
    placements.save(mode, {player: wanted[player] for player in moved})
    told = _load(mode, {*moved, *placed, *retold}) | changed
    return _gathered(mode, told=told, gone=gone, had=had, wanted=wanted, now=now)


class _Telling:
    """Attempts folded one by one: the rows that change, and the attempts that would take a total too far."""

    def __init__(self, mode: Mode, before: Mapping[Row, Told]) -> None:
        self.rules, self.zone = mode.rules, windows.timezone_named(mode.timezone)
        self.before = before
        self.changed: dict[Row, Told] = {}
        self.beyond: list[tuple[int, int]] = []  # player, id in the log
        self.most = self.rules.most_total()

    def add(self, score: ScoreRow, arrived: int) -> None:
        told = Told(score.score, score.at, score.attempt, arrived)
        after: dict[Row, Told] = {}
        for row in _rows(score, self.zone):
            standing = self.changed.get(row) or self.before.get(row)
            folded = fold(self.rules, standing, told)
            if folded != standing:
                after[row] = folded
        if self.most is not None and any(abs(folded.score) > self.most for folded in after.values()):
            self.beyond.append((score.player, score.attempt))
        else:
            self.changed |= after


def _rows(score: ScoreRow, zone: ZoneInfo) -> list[Row]:
    instant = instant_of(score.at)
    ids = [
        windows.window_at(kind, instant, zone).id for bit, kind in enumerate(windows.KINDS) if score.windows >> bit & 1
    ]
    scopes = ["", *(f"{name}:{value}" for name, value in score.dimensions.items())]
    return [Row(score.player, window, scope) for window in ids for scope in scopes]


def _gathered(  # noqa: PLR0913 - what was, what is, and when
    mode: Mode,
    *,
    told: Mapping[Row, Told],
    gone: Iterable[Row],
    had: Mapping[int, Listing],
    wanted: Mapping[int, Listing],
    now: datetime,
) -> Gathering:
    gathering = Gathering()
    hot = {window: is_hot(window, mode.timezone, now) for window in {row.window for row in told}}
    for row, standing in told.items():
        if not hot[row.window]:
            continue
        scopes = _scopes(mode, row, wanted[row.player])
        for left in set(_scopes(mode, row, had.get(row.player, NOWHERE))) - set(scopes):
            gathering.drop(row.window, left, row.player)
        for scope in scopes:
            gathering.put(row.window, scope, Put(row.player, standing.score, standing.at))
    for row in gone:
        for scope in _scopes(mode, row, had.get(row.player, NOWHERE)):
            gathering.drop(row.window, scope, row.player)
    return gathering


def _scopes(mode: Mode, row: Row, listing: Listing) -> list[str]:
    if not listing.listed:
        return []
    if row.scope:
        return [row.scope]
    own = {"region": listing.region, "country": listing.country}
    return ["global", *(f"{name}:{own[name]}" for name in PLAYERS_OWN if name in mode.dimensions and own[name])]


def _load(mode: Mode, players: Iterable[int]) -> dict[Row, Told]:
    """All rows of these players."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT player_id, "window", scope, score, (extract(epoch FROM achieved_at) * 1000000)::bigint, attempt,
                (extract(epoch FROM received_at) * 1000000)::bigint
            FROM leaderboards_standing WHERE mode_id = %s AND player_id = ANY(%s)
            """,
            [mode.pk, list(players)],
        )
        return {Row(*row[:3]): Told(*row[3:]) for row in cursor.fetchall()}


def _save(mode: Mode, rows: Mapping[Row, Told]) -> None:
    ordered = sorted(rows)
    columns = [[row[index] for row in ordered] for index in range(3)]
    columns += [[rows[row][index] for row in ordered] for index in range(4)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO leaderboards_standing
                (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)
            SELECT %s, player, win, scope, score, to_timestamp(0) + at * interval '1 microsecond', attempt,
                to_timestamp(0) + received * interval '1 microsecond'
            FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
                AS i (player, win, scope, score, at, attempt, received)
            ON CONFLICT (mode_id, player_id, "window", scope) DO UPDATE
            SET score = EXCLUDED.score, achieved_at = EXCLUDED.achieved_at, attempt = EXCLUDED.attempt,
                received_at = EXCLUDED.received_at
            """,
            [mode.pk, *columns],
        )


def _delete(mode: Mode, rows: Iterable[Row]) -> None:
    ordered = sorted(rows)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM leaderboards_standing s
            USING unnest(%s::bigint[], %s::text[], %s::text[]) AS i (player, win, scope)
            WHERE s.mode_id = %s AND s.player_id = i.player AND s."window" = i.win AND s.scope = i.scope
            """,
            [*([row[index] for row in ordered] for index in range(3)), mode.pk],
        )


def _from_log(mode: Mode, players: Iterable[int]) -> _Telling:
    """What these players' attempts amount to, told anew from the log: as far back as that goes."""
    telling = _Telling(mode, {})
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT player_id, score, (extract(epoch FROM achieved_at) * 1000000)::bigint, id, windows, dimensions,
                (extract(epoch FROM received_at) * 1000000)::bigint
            FROM score_attempts WHERE player_id = ANY(%s) AND mode_id = %s AND state = %s ORDER BY received_at, id
            """,
            [list(players), mode.pk, log.State.ACCEPTED],
        )
        for player, score, at, attempt, mask, dimensions, received in cursor.fetchall():
            telling.add(ScoreRow(player, score, at, attempt, mask, json.loads(dimensions or "{}")), received)
    return telling
