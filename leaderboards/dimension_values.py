"""The values of submitted dimensions. Each has boards of its own: the mode bounds how many, and who brings new ones."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection

from leaderboards.keys import Lock
from leaderboards.models import Mode
from leaderboards.rules.mode import NEW_VALUES_A_DAY

Value = tuple[int, str, str]  # mode, dimension, value
_known: set[Value] = set()  # values are never given back, and the modes' rules bound their number


class Wish(NamedTuple):
    """A score to be logged brings this value. `player`: who sent it with a token; None: a key did."""

    value: Value
    mode: Mode
    player: int | None

    @property
    def declared(self) -> bool:
        return self.value[2] in self.mode.values.get(self.value[1], ())

    @property
    def allowed(self) -> bool:
        return self.player is None or self.mode.new_values == "anyone" or self.declared


def are_known(values: Iterable[Value]) -> bool:
    """As far as this process knows; `learn` asks the others."""
    return _known.issuperset(values)


def learn(values: Iterable[Value]) -> None:
    """Only what is committed: before `keep` in the same transaction, never after it."""
    unknown = [value for value in dict.fromkeys(values) if value not in _known]
    if not unknown:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mode_id, name, value FROM leaderboards_dimensionvalue"
            " JOIN unnest(%s::bigint[], %s::text[], %s::text[]) AS i (mode_id, name, value)"
            " USING (mode_id, name, value)",
            [[value[part] for value in unknown] for part in range(3)],
        )
        _known.update(cursor.fetchall())


def choose(wishes: Sequence[Wish], *, at: datetime) -> dict[Value, int | None]:
    """The new values that there is room for, with the player whose share they take.

    If there are any, nobody else chooses for these modes until the transaction ends. Whether there is room is looked up
    first without the lock: a flood of values that find no room makes nobody wait.
    """
    if not _fitting(wishes, at):
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, (m %% 2147483647)::int) FROM unnest(%s::bigint[]) AS m",
            [Lock.DIMENSION_VALUES, sorted({wish.value[0] for wish in wishes})],
        )
    learn(wish.value for wish in wishes)
    return _fitting(wishes, at)


def keep(chosen: Mapping[Value, int | None], *, at: datetime) -> None:
    """In the transaction that logs the scores which bring them."""
    if not chosen:
        return
    columns = [[value[part] for value in chosen] for part in range(3)]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leaderboards_dimensionvalue (mode_id, name, value, player, brought_at)"
            " SELECT *, %s::timestamptz FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[])"
            " ON CONFLICT DO NOTHING",
            [at, *columns, list(chosen.values())],
        )


def _fitting(wishes: Sequence[Wish], at: datetime) -> dict[Value, int | None]:
    """In the order of the wishes."""
    wishes = [wish for wish in wishes if wish.value not in _known and wish.allowed]
    if not wishes:
        return {}
    counts, shares = _counts({wish.value[0] for wish in wishes}), _shares(wishes, at)
    new: dict[Value, int | None] = {}
    for wish in wishes:
        (mode, name, _), player = wish.value, None if wish.declared else wish.player
        has_room = wish.declared or counts[mode, name] < wish.mode.dimension_values
        if wish.value in new or not has_room or (player and shares[mode, player] >= NEW_VALUES_A_DAY):
            continue
        new[wish.value] = player
        counts[mode, name] += 1
        shares[mode, player] += 1
    return new


def _counts(modes: Iterable[int]) -> Counter[tuple[int, str]]:
    """How many values each dimension has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mode_id, name, count(*) FROM leaderboards_dimensionvalue WHERE mode_id = ANY(%s) GROUP BY 1, 2",
            [list(modes)],
        )
        return Counter({(mode, name): count for mode, name, count in cursor.fetchall()})


def _shares(wishes: Sequence[Wish], at: datetime) -> Counter[tuple[int, int | None]]:
    """How many values each player has brought to a mode within a day."""
    players = {wish.player for wish in wishes if wish.player is not None}
    if not players:
        return Counter()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mode_id, player, count(*) FROM leaderboards_dimensionvalue"
            " WHERE mode_id = ANY(%s) AND player = ANY(%s) AND brought_at > %s GROUP BY 1, 2",
            [list({wish.value[0] for wish in wishes}), list(players), at - timedelta(days=1)],
        )
        return Counter({(mode, player): count for mode, player, count in cursor.fetchall()})


def values_seen(mode: int, *, most: int) -> dict[str, list[str]]:
    """By dimension, values that there are boards of: the submitted ones, and where the newest players are from.

    All who ever played would tell every region, and take a look at each of them.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SEEN, [mode, mode, most])
        found: dict[str, list[str]] = {}
        for name, value in cursor.fetchall():
            found.setdefault(name, []).append(value)
    return found


_SEEN = """
WITH newest AS (
    SELECT region, country FROM leaderboards_placement WHERE mode_id = %s AND listed ORDER BY player_id DESC LIMIT 5000
), seen AS (
    SELECT 'region' AS name, region AS value FROM newest UNION SELECT 'country', country FROM newest
    UNION SELECT name, value FROM leaderboards_dimensionvalue WHERE mode_id = %s
), numbered AS (
    SELECT name, value, row_number() OVER (PARTITION BY name ORDER BY value) AS number FROM seen WHERE value <> ''
)
SELECT name, value FROM numbered WHERE number <= %s ORDER BY name, value
"""
