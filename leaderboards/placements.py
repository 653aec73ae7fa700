"""Where the boards have players, and where they should: who is listed, in which region and country."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from leaderboards.models import Mode

# of players_player p; whatever hides a player from boards is said here, and nowhere else
_LISTED = """(
    p.erased_at IS NULL AND NOT EXISTS (
        SELECT FROM players_ban b
        WHERE b.player_id = p.id AND b.starts_at <= %(now)s AND (b.ends_at IS NULL OR b.ends_at > %(now)s)
    )
)"""


class Listing(NamedTuple):
    region: str
    country: str
    listed: bool


NOWHERE = Listing("", "", listed=False)


def wanted(players: Iterable[int], now: datetime) -> dict[int, Listing]:
    """Where each of them should be."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT p.id, p.region, p.country, {_LISTED} FROM players_player p WHERE p.id = ANY(%(players)s)",  # noqa: S608 - the text is ours
            {"now": now, "players": list(players)},
        )
        found = {player: Listing(*rest) for player, *rest in cursor.fetchall()}
    return {player: found.get(player, NOWHERE) for player in players}


def had(mode: Mode, players: Iterable[int]) -> dict[int, Listing]:
    """Where the boards have those who were ever placed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id, region, country, listed FROM leaderboards_placement"
            " WHERE mode_id = %s AND player_id = ANY(%s)",
            [mode.pk, list(players)],
        )
        return {player: Listing(*rest) for player, *rest in cursor.fetchall()}


def save(mode: Mode, listings: Mapping[int, Listing]) -> None:
    columns = [list(listings), *([getattr(one, name) for one in listings.values()] for name in Listing._fields)]
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
            WHERE l.listed <> {_LISTED} LIMIT %(most)s
            """,  # noqa: S608 - the text is ours
            {"since": since, "now": now, "most": most},
        )
        return [row[0] for row in cursor.fetchall()]
