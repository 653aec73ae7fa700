"""Scores folded into the standings by PostgreSQL itself, a batch in one statement; only what changes comes back.

The same as rules/aggregation.py says, in SQL: what is told one by one there is told of a set here.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.db import DataError, connection, transaction

from config.sql import integer_array, numbers, texts
from leaderboards.models import Mode
from leaderboards.outbox import Scores, integers
from leaderboards.rules import windows
from leaderboards.rules.instants import instant_of, micros
from leaderboards.rules.mode import ModeRules

_NEVER, _EVER = -(2**62), 2**62  # microseconds: before and after everything
_DAY = windows.KINDS.index(windows.Kind.DAILY)  # the bit of days
Standing = tuple[int, str, str, int, int]  # player, window, scope (a submitted one, or ""), score, when achieved
# the same, with the attempt that made it, when that arrived, and the score before
Changed = tuple[int, str, str, int, int, int, int, int | None]


class Beyond(Exception):
    """A total would leave its range: which attempts are to wait is found one by one."""


class HeldBack(Exception):
    """Some of the attempts must not count: nothing was folded."""

    def __init__(self, attempts: Sequence[int]) -> None:
        super().__init__(f"{len(attempts)} attempts are held back")
        self.attempts = attempts


def fold(mode: Mode, commits: Sequence[Scores], judge: Callable[[list[Changed]], Sequence[int]]) -> list[Changed]:
    """The standings that these scores change, in the order of players; `judge` says which attempts must not count."""
    if not any(some.players for some in commits):
        return []
    rules = mode.rules
    statement = _SUM if rules.aggregation == "sum" else _BEST.format(**_preferring(rules))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, {"mode": mode.pk, "day": _DAY, **_columns(commits), **_windows(mode, commits)})
            changed: list[Changed] = cursor.fetchall()
            most = rules.most_total()
            if most is not None and any(abs(row[3]) > most for row in changed):
                raise Beyond
            if held := judge(changed):
                raise HeldBack(held)
    except DataError:  # beyond even what a column holds
        raise Beyond from None
    return changed


def _columns(commits: Sequence[Scores]) -> dict[str, str]:
    """Each score once for all scopes that come from the player, and once for each that was submitted."""
    columns = {
        "players": _joined(some.players for some in commits),
        "scores": _joined(some.scores for some in commits),
        "ats": _joined(some.ats for some in commits),
        "attempts": _joined(some.attempts for some in commits),
        "masks": array("q", [mask for some in commits for mask in some.windows]),
        "arrived": array("q", [some.arrived for some in commits for _ in some.windows]),
    }
    many, submitted = 0, list[tuple[int, str]]()
    for some in commits:
        for number, dimensions in some.dimensions.items():
            submitted += [(many + number, f"{name}:{value}") for name, value in dimensions.items()]
        many += len(some.windows)
    for column in columns.values():
        column.extend([column[number] for number, _ in submitted])
    scopes = texts([*[""] * many, *(scope for _, scope in submitted)]) if submitted else "{}"
    return {name: integer_array(column) for name, column in columns.items()} | {"scopes": scopes}


def _joined(columns: Iterable[bytes]) -> "array[int]":
    return integers(b"".join(columns))


def _windows(mode: Mode, commits: Sequence[Scores]) -> dict[str, str]:
    """The windows that any of them may lie in: mostly one of each kind."""
    zone = windows.timezone_named(mode.timezone)
    spans = _spans(commits)
    found: dict[str, tuple[int, int, int]] = {}
    for bit, kind in enumerate(windows.KINDS):
        times = [time for mask, span in spans for time in span if mask >> bit & 1]
        if not times:
            continue
        at, last = min(times), max(times)
        while at <= last:
            window = windows.window_at(kind, instant_of(at), zone)
            begins, at = _micros(window.starts_at, _NEVER), _micros(window.ends_at, _EVER)
            found[window.id] = bit, begins, at
    columns = zip(("bits", "begins", "ends"), zip(*found.values(), strict=True), strict=True)
    return {name: numbers(column) for name, column in columns} | {"ids": texts(found)}


def _spans(commits: Sequence[Scores]) -> list[tuple[int, tuple[int, int]]]:
    """The kinds of windows that scores count in, as bits, and the first and the last time of those that do."""
    found = []
    for some in commits:
        ats, masks = integers(some.ats), set(some.windows)
        for mask in masks:
            times = ats if len(masks) == 1 else [at for at, own in zip(ats, some.windows, strict=True) if own == mask]
            found.append((mask, (min(times), max(times))))
    return found


def _micros(instant: datetime | None, otherwise: int) -> int:
    return otherwise if instant is None else micros(instant)


def _preferring(rules: ModeRules) -> dict[str, str]:
    """How the better of two is told: as an order, and as a condition on b over s."""
    if rules.aggregation == "latest":
        return {"order": "t.at DESC, t.attempt DESC", "better": "(b.at, b.attempt) > (s.at, s.attempt)"}
    more, direction = (">", "DESC") if rules.order == "desc" else ("<", "ASC")
    order, tied = {
        "earliest": ("t.at, t.attempt", "(b.at, b.attempt) < (s.at, s.attempt)"),
        "latest": ("t.at DESC, t.attempt", "(b.at > s.at OR b.at = s.at AND b.attempt < s.attempt)"),
        "none": ("t.attempt", "b.attempt < s.attempt"),
    }[rules.tie_break]
    better = f"b.score {more} s.score OR b.score = s.score AND {tied}"
    return {"order": f"t.score {direction}, {order}", "better": better}


# scopes that were not submitted are not sent: NULL is ""
_TOLD = """
WITH told AS MATERIALIZED (
    SELECT player, score, at, attempt, mask, arrived, coalesce(scope, '') AS scope FROM unnest(
        %(players)s::bigint[], %(scores)s::bigint[], %(ats)s::bigint[], %(attempts)s::bigint[], %(masks)s::int[],
        %(arrived)s::bigint[], %(scopes)s::text[]
    ) AS i (player, score, at, attempt, mask, arrived, scope)
), w AS MATERIALIZED (
    SELECT * FROM unnest(%(bits)s::int[], %(begins)s::bigint[], %(ends)s::bigint[], %(ids)s::text[])
        AS w (bit, begins, ends, win)
)"""
_IN_WINDOW = "t.mask >> w.bit & 1 = 1 AND t.at >= w.begins AND t.at < w.ends"
# looked up one by one, by index: a plan that reads the whole table for a thousand rows must not be thought of
_BEFORE = """
LEFT JOIN LATERAL (
    SELECT s.ctid AS tid, s.score, (extract(epoch FROM s.achieved_at) * 1000000)::bigint AS at, s.attempt, s.received_at
    FROM leaderboards_standing s
    WHERE s.mode_id = %(mode)s AND s.player_id = b.player AND s."window" = b.win AND s.scope = b.scope LIMIT 1
) s ON true
"""
# where a row is was just seen, in the same snapshot: if another has changed it since, or made one where none was, the
# transaction cannot go on, and is tried again
_PUT = """, updated AS (
    UPDATE leaderboards_standing s SET score = c.score, achieved_at = to_timestamp(0) + c.at * interval '1 microsecond',
        attempt = c.attempt, received_at = c.received
    FROM changed c WHERE s.ctid = c.tid
), inserted AS (
    INSERT INTO leaderboards_standing (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)
    SELECT %(mode)s, player, win, scope, score, to_timestamp(0) + at * interval '1 microsecond', attempt, received
    FROM changed WHERE tid IS NULL ORDER BY player, win, scope
    ON CONFLICT (mode_id, player_id, "window", scope) DO UPDATE SET score = EXCLUDED.score
)
SELECT player, win, scope, score, at, attempt, arrived, before FROM changed ORDER BY player
"""
_BETTER = f"""
SELECT b.*, s.tid, s.score AS before FROM (
    SELECT DISTINCT ON (t.player, w.win, t.scope) t.player, w.win, t.scope, t.score, t.at, t.attempt, t.arrived
    FROM {{told}} JOIN w ON {{which}} AND {_IN_WINDOW} ORDER BY t.player, w.win, t.scope, {{order}}
) b {_BEFORE} WHERE s.attempt IS NULL OR {{better}}
"""  # noqa: S608 - the text is ours
# a day lies in every other window that is open while it is: what is not better there is better nowhere, and most is not
_BEST = f"""{_TOLD}, better_that_day AS MATERIALIZED (
    {_BETTER.replace("{told}", "told t").replace("{which}", "w.bit = %(day)s")}
), elsewhere AS (
    SELECT player, scope FROM better_that_day UNION SELECT player, scope FROM told WHERE mask >> %(day)s & 1 = 0
), better_elsewhere AS (
    {_BETTER.replace("{told}", "elsewhere JOIN told t USING (player, scope)").replace("{which}", "w.bit <> %(day)s")}
), changed AS MATERIALIZED (
    SELECT b.*, to_timestamp(0) + b.arrived * interval '1 microsecond' AS received
    FROM (SELECT * FROM better_that_day UNION ALL SELECT * FROM better_elsewhere) b
) {_PUT}"""  # noqa: S608
_SUM = f"""{_TOLD}, b AS (
    SELECT t.player, w.win, t.scope, sum(t.score) AS score, max(t.at) AS at, max(ARRAY[t.attempt, t.arrived]) AS last
    FROM told t JOIN w ON {_IN_WINDOW} GROUP BY t.player, w.win, t.scope
), changed AS MATERIALIZED (
    SELECT b.player, b.win, b.scope, (coalesce(s.score, 0) + b.score)::bigint AS score, greatest(s.at, b.at) AS at,
        greatest(s.attempt, b.last[1]) AS attempt, b.last[2] AS arrived, s.tid, s.score AS before,
        CASE WHEN s.attempt > b.last[1] THEN s.received_at
            ELSE to_timestamp(0) + b.last[2] * interval '1 microsecond' END AS received
    FROM b {_BEFORE}
) {_PUT}"""  # noqa: S608
