"""Scores folded into the standings by PostgreSQL itself, a batch in one statement; only what changes comes back.

The same as rules/aggregation.py says, in SQL: what is told one by one there is told of a set here.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import DataError, connection, transaction

from config.sql import numbers, texts
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.rules import windows
from leaderboards.rules.instants import instant_of, micros
from leaderboards.rules.mode import ModeRules

_NEVER, _EVER = -(2**62), 2**62  # microseconds: before and after everything
_DAY = windows.KINDS.index(windows.Kind.DAILY)  # the bit of days
Pending = tuple[int, ScoreRow]  # when it arrived, and what


class Standing(NamedTuple):
    """A row that has changed."""

    player: int
    window: str
    scope: str  # a submitted one, or "" for all that come from the player
    score: int
    at: int


class Beyond(Exception):
    """A total would leave its range: which attempts are to wait is found one by one."""


def fold(mode: Mode, scores: Sequence[Pending]) -> list[Standing]:
    """The standings that these scores change."""
    if not scores:
        return []
    rules = mode.rules
    statement = _SUM if rules.aggregation == "sum" else _BEST.format(**_preferring(rules))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, {"mode": mode.pk, "day": _DAY, **_columns(scores), **_windows(mode, scores)})
            changed = [Standing(*row) for row in cursor.fetchall()]
            most = rules.most_total()
            if most is not None and any(abs(one.score) > most for one in changed):
                raise Beyond
    except DataError:  # beyond even what a column holds
        raise Beyond from None
    return changed


def _columns(scores: Sequence[Pending]) -> dict[str, str]:
    """Each score once for all scopes that come from the player, and once for each that was submitted."""
    submitted = [(at, row, f"{name}:{value}") for at, row in scores for name, value in row.dimensions.items()]
    rows = [*((at, row, "") for at, row in scores), *submitted]
    return {
        "players": numbers(row.player for _, row, _ in rows),
        "scores": numbers(row.score for _, row, _ in rows),
        "ats": numbers(row.at for _, row, _ in rows),
        "attempts": numbers(row.attempt for _, row, _ in rows),
        "masks": numbers(row.windows for _, row, _ in rows),
        "arrived": numbers(arrived for arrived, _, _ in rows),
        "scopes": texts(scope for _, _, scope in rows),
    }


def _windows(mode: Mode, scores: Sequence[Pending]) -> dict[str, str]:
    """The windows that any of them may lie in: mostly one of each kind."""
    zone = windows.timezone_named(mode.timezone)
    found: dict[str, tuple[int, int, int]] = {}
    for bit, kind in enumerate(windows.KINDS):
        times = [row.at for _, row in scores if row.windows >> bit & 1]
        if not times:
            continue
        at, last = min(times), max(times)
        while at <= last:
            window = windows.window_at(kind, instant_of(at), zone)
            begins, at = _micros(window.starts_at, _NEVER), _micros(window.ends_at, _EVER)
            found[window.id] = bit, begins, at
    columns = zip(("bits", "begins", "ends"), zip(*found.values(), strict=True), strict=True)
    return {name: numbers(column) for name, column in columns} | {"ids": texts(found)}


def _micros(instant: datetime | None, otherwise: int) -> int:
    return otherwise if instant is None else micros(instant)


def _preferring(rules: ModeRules) -> dict[str, str]:
    """How the better of two is told: as an order, and as a condition on b over s."""
    if rules.aggregation == "latest":
        return {"order": "at DESC, attempt DESC", "better": "(b.at, b.attempt) > (s.at, s.attempt)"}
    more, direction = (">", "DESC") if rules.order == "desc" else ("<", "ASC")
    order, tied = {
        "earliest": ("at, attempt", "(b.at, b.attempt) < (s.at, s.attempt)"),
        "latest": ("at DESC, attempt", "(b.at > s.at OR b.at = s.at AND b.attempt < s.attempt)"),
        "none": ("attempt", "b.attempt < s.attempt"),
    }[rules.tie_break]
    better = f"b.score {more} s.score OR b.score = s.score AND {tied}"
    return {"order": f"score {direction}, {order}", "better": better}


_TOLD = """
WITH told AS (
    SELECT i.player, w.id AS win, i.scope, i.score, i.at, i.attempt, i.arrived, w.bit = %(day)s AS day,
        i.mask >> %(day)s & 1 = 1 AS dayed
    FROM unnest(
        %(players)s::bigint[], %(scores)s::bigint[], %(ats)s::bigint[], %(attempts)s::bigint[], %(masks)s::int[],
        %(arrived)s::bigint[], %(scopes)s::text[]
    ) AS i (player, score, at, attempt, mask, arrived, scope)
    JOIN unnest(%(bits)s::int[], %(begins)s::bigint[], %(ends)s::bigint[], %(ids)s::text[]) AS w (bit, begins, ends, id)
    ON i.mask >> w.bit & 1 = 1 AND i.at >= w.begins AND i.at < w.ends
)"""
# looked up one by one, by index: a plan that reads the whole table for a thousand rows must not be thought of
_BEFORE = """
LEFT JOIN LATERAL (
    SELECT s.score, (extract(epoch FROM s.achieved_at) * 1000000)::bigint AS at, s.attempt, s.received_at
    FROM leaderboards_standing s
    WHERE s.mode_id = %(mode)s AND s.player_id = b.player AND s."window" = b.win AND s.scope = b.scope LIMIT 1
) s ON true
"""
_PUT = """
INSERT INTO leaderboards_standing (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)
SELECT %(mode)s, player, win, scope, score, to_timestamp(0) + at * interval '1 microsecond', attempt, received
FROM changed ORDER BY player, win, scope
ON CONFLICT (mode_id, player_id, "window", scope) DO UPDATE
SET score = EXCLUDED.score, achieved_at = EXCLUDED.achieved_at, attempt = EXCLUDED.attempt,
    received_at = EXCLUDED.received_at
RETURNING player_id, "window", scope, score, (extract(epoch FROM achieved_at) * 1000000)::bigint
"""
# a day lies in every other window that is open while it is: what is not better there is better nowhere, and most is not
_BEST = f"""{_TOLD}, b AS MATERIALIZED (
    SELECT DISTINCT ON (player, win, scope) * FROM told ORDER BY player, win, scope, {{order}}
), better_that_day AS MATERIALIZED (
    SELECT b.* FROM b {_BEFORE} WHERE b.day AND (s.attempt IS NULL OR {{better}})
), elsewhere AS (
    SELECT player, scope FROM better_that_day UNION SELECT player, scope FROM told WHERE NOT dayed
), changed AS (
    SELECT b.*, to_timestamp(0) + b.arrived * interval '1 microsecond' AS received FROM (
        SELECT * FROM better_that_day
        UNION ALL SELECT b.* FROM b JOIN elsewhere e ON e.player = b.player AND e.scope = b.scope {_BEFORE}
        WHERE NOT b.day AND (s.attempt IS NULL OR {{better}})
    ) b
) {_PUT}"""  # noqa: S608 - the text is ours
_SUM = f"""{_TOLD}, b AS (
    SELECT player, win, scope, sum(score) AS score, max(at) AS at, max(ARRAY[attempt, arrived]) AS last
    FROM told GROUP BY player, win, scope
), changed AS (
    SELECT b.player, b.win, b.scope, (coalesce(s.score, 0) + b.score)::bigint AS score, greatest(s.at, b.at) AS at,
        greatest(s.attempt, b.last[1]) AS attempt,
        CASE WHEN s.attempt > b.last[1] THEN s.received_at
            ELSE to_timestamp(0) + b.last[2] * interval '1 microsecond' END AS received
    FROM b {_BEFORE}
) {_PUT}"""  # noqa: S608
