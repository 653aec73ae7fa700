"""The values that submitted dimensions have taken: each makes boards of its own, so a mode bounds their number."""

from collections.abc import Iterable, Mapping, Sequence

from django.db import connection, transaction

from leaderboards.keys import Lock

Value = tuple[int, str, str]  # mode, dimension, value
_known: set[Value] = set()  # taken ones stay taken; as many as the modes' rules allow


def take(asked: Iterable[Value], most: Mapping[int, int]) -> set[Value]:
    """Those for which there was no room any more; the others are taken from now on. `most`: by mode."""
    unknown = _unknown(asked)
    if not unknown:
        return set()
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, (m %% 2147483647)::int) FROM unnest(%s::bigint[]) AS m",
            [Lock.DIMENSION_VALUES, sorted({value[0] for value in unknown})],
        )
        new = _fitting(unknown, most)
        cursor.execute(
            "INSERT INTO leaderboards_dimensionvalue (mode_id, name, value)"
            " SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[]) ON CONFLICT DO NOTHING",
            [[value[part] for value in new] for part in range(3)],
        )
    _known.update(new)
    return {value for value in unknown if value not in _known}


def _unknown(asked: Iterable[Value]) -> list[Value]:
    """Each once, in the order asked."""
    return list(dict.fromkeys(value for value in asked if value not in _known))


def _taken(values: Sequence[Value]) -> dict[tuple[int, str], int]:
    """How many values each dimension of their modes has; those among them are known from now on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mode_id, name, value FROM leaderboards_dimensionvalue"
            " JOIN unnest(%s::bigint[], %s::text[], %s::text[]) AS i (mode_id, name, value)"
            " USING (mode_id, name, value)",
            [[value[part] for value in values] for part in range(3)],
        )
        _known.update(cursor.fetchall())
        cursor.execute(
            "SELECT mode_id, name, count(*) FROM leaderboards_dimensionvalue WHERE mode_id = ANY(%s) GROUP BY 1, 2",
            [sorted({value[0] for value in values})],
        )
        return {(mode, name): count for mode, name, count in cursor.fetchall()}


def _fitting(values: Sequence[Value], most: Mapping[int, int]) -> list[Value]:
    """Those that are not taken yet and for which there is room, in the order asked."""
    taken = _taken(values)
    fitting = []
    for value in values:
        mode, name, _ = value
        if value not in _known and taken.get((mode, name), 0) < most[mode]:
            taken[mode, name] = taken.get((mode, name), 0) + 1
            fitting.append(value)
    return fitting


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
