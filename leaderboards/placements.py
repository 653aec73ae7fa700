"""Where the boards have players, and where they should: who is listed, in which region and country."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from config.sql import numbers, texts
from leaderboards.models import Mode


def _listed(mode: str) -> str:
    """Of players_player p in a mode; whatever hides a player from boards is said here, and nowhere else."""
    return f"""(
    p.erased_at IS NULL AND NOT EXISTS (
        SELECT FROM players_ban b
        WHERE b.player_id = p.id AND b.starts_at <= %(now)s AND (b.ends_at IS NULL OR b.ends_at > %(now)s)
            AND (b.mode_id IS NULL OR b.mode_id = {mode})
    )
)"""


_LISTED = _listed("%(mode)s")


class Listing(NamedTuple):
    region: str
    country: str
    listed: bool


NOWHERE = Listing("", "", listed=False)


class Placing(NamedTuple):
    """Where the boards have a player, and where it should be."""

    had: Listing | None  # None: never placed before
    wanted: Listing

    @property
    def is_off(self) -> bool:
        return self.had != self.wanted


def placings(mode: Mode, players: Iterable[int], *, now: datetime) -> dict[int, Placing]:
    with connection.cursor() as cursor:
        cursor.execute(_PLACINGS, {"mode": mode.pk, "players": numbers(players), "now": now})
        rows = cursor.fetchall()
    known = {
        (*wanted, *had): Placing(None if had[2] is None else Listing(*had), Listing(*wanted))
        for wanted, had in {(row[1:4], row[4:]) for row in rows}
    }
    return {row[0]: known[row[1:]] for row in rows}


# looked up one by one, by index: a plan that reads whole tables for a thousand players must not be thought of
_PLACINGS = f"""
SELECT i.player, coalesce(p.region, ''), coalesce(p.country, ''), coalesce(p.listed, false),
    l.region, l.country, l.listed
FROM unnest(%(players)s::bigint[]) AS i (player)
LEFT JOIN LATERAL (
    SELECT p.region, p.country, {_LISTED} AS listed FROM players_player p WHERE p.id = i.player LIMIT 1
) p ON true
LEFT JOIN LATERAL (
    SELECT l.region, l.country, l.listed FROM leaderboards_placement l
    WHERE l.mode_id = %(mode)s AND l.player_id = i.player LIMIT 1
) l ON true
"""  # noqa: S608 - the text is ours


def save(mode: Mode, listings: Mapping[int, Listing]) -> None:
    if not listings:
        return
    columns = [
        numbers(listings),
        texts(one.region for one in listings.values()),
        texts(one.country for one in listings.values()),
        texts("t" if one.listed else "f" for one in listings.values()),
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO leaderboards_placement (mode_id, player_id, region, country, listed)
            SELECT %s, * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::boolean[])
            ON CONFLICT (mode_id, player_id) DO UPDATE
            SET region = EXCLUDED.region, country = EXCLUDED.country, listed = EXCLUDED.listed
            """,
            [mode.pk, *columns],
        )


def misplaced(mode: Mode, *, low: int, most: int | None, now: datetime) -> list[int]:
    """Of those placed in a mode, from a player's number on: who is not where it should be."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT p.id FROM (
                SELECT * FROM leaderboards_placement
                WHERE mode_id = %(mode)s AND player_id >= %(low)s ORDER BY player_id LIMIT %(most)s
            ) l JOIN players_player p ON p.id = l.player_id
            WHERE (l.region, l.country, l.listed) <> (p.region, p.country, {_LISTED})
            """,  # noqa: S608 - the text is ours
            {"mode": mode.pk, "low": low, "most": most, "now": now},
        )
        return [row[0] for row in cursor.fetchall()]


def misplaced_by_bans(*, since: datetime | None, now: datetime, most: int) -> list[int]:
    """Those with bans that began or ended since then, or ever, who are listed and should not be, or the reverse."""
    passed = (
        "SELECT player_id FROM players_ban WHERE starts_at > %(since)s AND starts_at <= %(now)s"
        " UNION SELECT player_id FROM players_ban WHERE ends_at > %(since)s AND ends_at <= %(now)s"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT DISTINCT p.id FROM ({passed if since else "SELECT DISTINCT player_id FROM players_ban"}) b
            JOIN players_player p ON p.id = b.player_id AND p.erased_at IS NULL
            JOIN leaderboards_placement l ON l.player_id = p.id
            WHERE l.listed <> {_listed("l.mode_id")} LIMIT %(most)s
            """,  # noqa: S608 - the text is ours
            {"since": since, "now": now, "most": most},
        )
        return [row[0] for row in cursor.fetchall()]
