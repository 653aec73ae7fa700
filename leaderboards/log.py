"""The log of scores: the truth. An attempt is in it once, whatever is sent, whenever, by how many at the same time."""

import json
from collections.abc import Sequence
from datetime import date, datetime
from enum import IntEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from msgspec import Struct
from psycopg import sql

from config.sql import integer_array, numbers, texts
from leaderboards import partitions

MOST_AT_ONCE = 10_000  # by how much the sequence of ids rises
Key = tuple[int, UUID]  # player, attempt_id: a player belongs to one game

_COLUMNS = {
    "mode_id": "bigint",
    "player_id": "bigint",
    "attempt_id": "uuid",
    "score": "bigint",
    "achieved_at": "timestamptz",
    "windows": "smallint",
    "state": "smallint",
    "key_id": "bigint",
    "dimensions": "jsonb",  # those that count: each makes a scope
    "left_out": "jsonb",  # the other ones submitted: there was no room for their values
    "metadata": "json",  # as it was sent: jsonb would write 1e308 with all its digits
    "client": "jsonb",
    "reasons": "jsonb",
}


_READ = {name: attrgetter(name) for name in _COLUMNS}
_INTEGERS = {"mode_id", "player_id", "score", "windows"}  # and nothing else
_NUMBERS = {name for name, kind in _COLUMNS.items() if kind in ("bigint", "smallint")}


class State(IntEnum):
    ACCEPTED = 0
    QUARANTINED = 1
    REJECTED = 2
    TAKEN_BACK = 3


class Attempt(Struct):
    """One to be logged. The JSON fields are texts; `windows` has a bit for each kind that it counts in."""

    mode_id: int
    player_id: int
    attempt_id: UUID
    score: int
    achieved_at: datetime
    windows: int
    state: State = State.ACCEPTED
    key_id: int | None = None
    dimensions: str | None = None
    left_out: str | None = None
    metadata: str | None = None
    client: str | None = None
    reasons: str | None = None

    @property
    def key(self) -> Key:
        return self.player_id, self.attempt_id


class Logged(Struct, frozen=True):
    """One as it is in the log."""

    id: int
    mode_id: int
    score: int
    achieved_at: datetime
    windows: int
    state: State
    dimensions: dict[str, str]  # that count
    left_out: dict[str, str]  # that were submitted too

    @property
    def submitted(self) -> dict[str, str]:
        return self.dimensions | self.left_out if self.left_out else self.dimensions

    @property
    def scopes_left_out(self) -> list[str]:
        return [f"{name}:{value}" for name, value in sorted(self.left_out.items())]


class Arrival(NamedTuple):
    """The moment of arrival, and with it the day to write to; the last of the ids that are the batch's own."""

    at: datetime
    last: int


def enter() -> Arrival:
    """First in the transaction that logs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT score_attempts_enter(), nextval('score_attempts_id_seq')")
        return Arrival(*cursor.fetchone())


def append(attempts: Sequence[Attempt], *, arrival: Arrival) -> dict[Key, int]:
    """The ids of those that are new. Sorted, so that two batches with the same keys wait instead of deadlocking."""
    if len(attempts) > MOST_AT_ONCE:
        raise ValueError(f"The log takes {MOST_AT_ONCE:,} attempts at once.")
    rows = sorted(attempts, key=lambda one: (one.player_id, one.attempt_id.int))
    values = {name: list(map(read, rows)) for name, read in _READ.items()}
    same = {name: column[0] for name, column in values.items() if column.count(column[0]) == len(rows)}
    varying = {name: _column(name, column) for name, column in values.items() if name not in same}
    with connection.cursor() as cursor:
        before = arrival.last - len(rows)  # a number is drawn for as many as a batch can have
        parameters = {"arrived": arrival.at, "before": before, **varying, **same}
        cursor.execute(_insert(partitions.day_of(arrival.at), tuple(varying)), parameters)
        return {rows[id_ - before - 1].key: id_ for (id_,) in cursor.fetchall()}


def _column(name: str, values: Sequence[Any]) -> str:
    if name == "attempt_id":
        return "{" + ",".join([f"{value.int:032x}" for value in values]) + "}"
    if name in _INTEGERS:
        return integer_array(values)
    if name in _NUMBERS:
        return numbers("NULL" if value is None else int(value) for value in values)
    return texts(None if value is None else str(value) for value in values)


def find(keys: Sequence[Key], *, since: datetime) -> dict[Key, Logged]:
    """Those that arrived since then, by their keys; the last one of a key that was used again after its time."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        found = [numbers(player for player, _ in keys), texts(str(attempt) for _, attempt in keys)]
        cursor.execute(_FIND, [*found, since])
        return {
            (player, attempt): Logged(
                id_,
                mode,
                score,
                achieved,
                windows,
                State(state),
                json.loads(dimensions or "{}"),
                json.loads(left or "{}"),
            )
            for player, attempt, id_, mode, score, achieved, windows, state, dimensions, left in cursor.fetchall()
        }


_FIND = """
SELECT i.player, i.attempt, a.id, a.mode_id, a.score, a.achieved_at, a.windows, a.state, a.dimensions, a.left_out
FROM unnest(%s::bigint[], %s::uuid[]) AS i (player, attempt)
CROSS JOIN LATERAL (
    SELECT * FROM score_attempts s
    WHERE s.player_id = i.player AND s.attempt_id = i.attempt AND s.received_at >= %s
    ORDER BY s.received_at DESC LIMIT 1
) a
"""


def _insert(day: date, varying: tuple[str, ...]) -> str:
    return _statement(day, varying, tuple(partitions.existing_beside(day)))


@lru_cache(maxsize=64)
def _statement(day: date, varying: tuple[str, ...], before: tuple[str, ...]) -> str:
    """Into the day's own partition; each key is looked for, by index, in those of the days beside it.

    What is the same for all rows is no column of theirs.
    """
    columns = {name: f"%({name})s::{_COLUMNS[name]}[]" for name in varying} or {"none": "ARRAY[0]"}
    values = {name: f"i.{name}" if name in varying else f"%({name})s::{kind}" for name, kind in _COLUMNS.items()}
    player, attempt = values["player_id"], values["attempt_id"]
    look = sql.SQL(
        f" LEFT JOIN LATERAL (SELECT 1 AS seen FROM {{}} s WHERE s.player_id = {player}"  # noqa: S608 - ours
        f" AND s.attempt_id = {attempt} LIMIT 1) {{}} ON true"
    )
    earlier = [look.format(sql.Identifier(name), sql.Identifier(f"d{n}")) for n, name in enumerate(before)]
    unseen = [sql.SQL(" AND {}.seen IS NULL").format(sql.Identifier(f"d{n}")) for n in range(len(earlier))]
    statement = sql.SQL(
        "INSERT INTO {table} (received_at, id, {columns}) SELECT %(arrived)s, %(before)s + i.number, {values}"
        " FROM unnest({arrays}) WITH ORDINALITY AS i ({names}, number){earlier}"
        " WHERE true{unseen} ON CONFLICT DO NOTHING RETURNING id"
    ).format(
        table=sql.Identifier(partitions.name(day)),
        columns=sql.SQL(", ").join(map(sql.Identifier, _COLUMNS)),
        values=sql.SQL(", ").join(map(sql.SQL, values.values())),
        arrays=sql.SQL(", ").join(map(sql.SQL, columns.values())),
        names=sql.SQL(", ").join(map(sql.Identifier, columns)),
        earlier=sql.Composed(earlier),
        unseen=sql.Composed(unseen),
    )
    return statement.as_string(None)
