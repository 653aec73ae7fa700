"""Standings in PostgreSQL: what the boards show. Kept by stamping, in stamping's own snapshot."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from config.sql import numbers, texts
from leaderboards import folding, log, placements
from leaderboards.effects import Gathering
from leaderboards.folding import Standing
from leaderboards.hot import is_hot
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.placements import NOWHERE, Listing, Placing
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

    scores: Sequence[folding.Pending]
    placed: set[int]
    retold: set[int]


def tell(*, mode: Mode, waiting: Pending, now: datetime) -> Gathering:
    """Folds what is pending into the standings, and says what that does to the boards."""
    try:
        changed = folding.fold(mode, waiting.scores)
    except folding.Beyond:
        changed = _one_by_one(mode, waiting.scores)
    corrected = waiting.placed | waiting.retold
    retold, gone = _retell(mode, waiting.retold) if waiting.retold else ([], [])
    named = {row.player for row in changed} | corrected
    others = {row.player for _, row in waiting.scores} - named
    found = placements.placings(mode, others, named=named, now=now)
    placements.save(mode, {player: one.wanted for player, one in found.items() if one.is_off})
    moved = {player for player, one in found.items() if one.is_off and one.had is not None} | corrected
    told = {(row.player, row.window, row.scope): row for row in [*_load(mode, moved), *retold, *changed]}
    return _gathered(mode, told=told.values(), gone=gone, found=found, now=now)


def _one_by_one(mode: Mode, scores: Sequence[folding.Pending]) -> list[Standing]:
    """The same without the attempts that would take a total too far: those wait for a look."""
    telling = _Telling(mode, _told(mode, {row.player for _, row in scores}))
    for arrived, row in scores:
        telling.add(row, arrived)
    return telling.save()


def _retell(mode: Mode, players: Collection[int]) -> tuple[list[Standing], list[Row]]:
    """What these players have now that the log is counted anew, and what they have no more."""
    before, telling = _told(mode, players), _from_log(mode, players)
    gone = sorted(before.keys() - telling.changed.keys())
    _delete(mode, gone)
    return telling.save(), gone


class _Telling:
    """Attempts folded one by one: the rows that change, and the attempts that would take a total too far."""

    def __init__(self, mode: Mode, before: Mapping[Row, Told]) -> None:
        self.mode, self.rules, self.zone = mode, mode.rules, windows.timezone_named(mode.timezone)
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

    def save(self) -> list[Standing]:
        log.quarantine(self.beyond, reason="The total would leave the range that the mode allows.")
        _save(self.mode, self.changed)
        return [Standing(*row, told.score, told.at) for row, told in self.changed.items()]


def _rows(score: ScoreRow, zone: ZoneInfo) -> list[Row]:
    instant = instant_of(score.at)
    ids = [
        windows.window_at(kind, instant, zone).id for bit, kind in enumerate(windows.KINDS) if score.windows >> bit & 1
    ]
    scopes = ["", *(f"{name}:{value}" for name, value in score.dimensions.items())]
    return [Row(score.player, window, scope) for window in ids for scope in scopes]


def _gathered(
    mode: Mode, *, told: Iterable[Standing], gone: Iterable[Row], found: Mapping[int, Placing], now: datetime
) -> Gathering:
    gathering, scopes = Gathering(), _Scopes(mode)
    hot: dict[str, bool] = {}
    for player, window, scope, score, at in told:
        if window not in hot:
            hot[window] = is_hot(window, mode.timezone, now)
        if not hot[window]:
            continue
        had, wanted = found[player]
        listed = scopes.of(scope, wanted)
        if had is not None and had != wanted:
            for left in set(scopes.of(scope, had)) - set(listed):
                gathering.drop(player, (window, left))
        for on in listed:
            gathering.put(player, (window, on), score, at)
    for player, window, scope in gone:
        for left in scopes.of(scope, found[player].had or NOWHERE):
            gathering.drop(player, (window, left))
    return gathering


class _Scopes:
    """The scopes in which a standing is shown, by where its player is listed."""

    def __init__(self, mode: Mode) -> None:
        self.own = [name for name in PLAYERS_OWN if name in mode.dimensions]
        self.known: dict[Listing, list[str]] = {}

    def of(self, scope: str, listing: Listing) -> list[str]:
        if scope:
            return [scope] if listing.listed else []
        if listing not in self.known:
            values = [f"{name}:{getattr(listing, name)}" for name in self.own if getattr(listing, name)]
            self.known[listing] = ["global", *values] if listing.listed else []
        return self.known[listing]


def _load(mode: Mode, players: Collection[int]) -> list[Standing]:
    if not players:
        return []
    return [Standing(*row, told.score, told.at) for row, told in _told(mode, players).items()]


def _told(mode: Mode, players: Iterable[int]) -> dict[Row, Told]:
    """All rows of these players."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT player_id, "window", scope, score, (extract(epoch FROM achieved_at) * 1000000)::bigint, attempt,
                (extract(epoch FROM received_at) * 1000000)::bigint
            FROM leaderboards_standing WHERE mode_id = %s AND player_id = ANY(%s::bigint[])
            """,
            [mode.pk, numbers(players)],
        )
        return {Row(*row[:3]): Told(*row[3:]) for row in cursor.fetchall()}


def _save(mode: Mode, rows: Mapping[Row, Told]) -> None:
    if not rows:
        return
    ordered = sorted(rows)
    columns = [numbers(row.player for row in ordered), texts(row.window for row in ordered)]
    columns += [texts(row.scope for row in ordered)]
    columns += [numbers(rows[row][index] for row in ordered) for index in range(4)]
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
    """What these players' attempts amount to: as far back as the log goes."""
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
