"""The log's partitions, one a day of arrival (UTC): made ahead by beat, and by need. Plain SQL (docs/adr/0008)."""

from datetime import UTC, date, datetime, time, timedelta

from django.db import connection, transaction
from psycopg import sql

from leaderboards.keys import Lock

AHEAD = 7  # days
RECENT = 2  # days before today in which a repeated attempt is looked for: at least 48 hours


def name(day: date) -> str:
    return f"score_attempts_{day:%Y%m%d}"


def day_of(at: datetime) -> date:
    return at.astimezone(UTC).date()


def span_of(day: date) -> tuple[datetime, datetime]:
    """From its first moment to that of the next."""
    begins = datetime.combine(day, time.min, tzinfo=UTC)
    return begins, begins + timedelta(days=1)


def today() -> date:
    """By the database's clock, which is the one that attempts arrive by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")
        day: date = cursor.fetchone()[0]
    return day


def make_ahead(today: date) -> list[str]:
    """What was missing from the days that are still looked at to a week ahead."""
    _complete.clear()  # whoever needs one may have been told wrong
    days = [today + timedelta(days=offset) for offset in range(-RECENT, AHEAD + 1)]
    return [name(day) for day in days if make(day)]


def make(day: date) -> bool:
    """Whether the partition had to be made. Attached, not created in place: that would lock the whole log."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [Lock.PARTITIONS])
        cursor.execute("SET LOCAL lock_timeout = '2s'")
        # asked of the table itself: to_regclass may still remember that an insert found none
        cursor.execute("SELECT EXISTS (SELECT FROM pg_class WHERE relname = %s)", [name(day)])
        if cursor.fetchone()[0]:
            return False
        table, begins, ends = sql.Identifier(name(day)), str(day), str(day + timedelta(days=1))
        span = sql.SQL("received_at >= {} AND received_at < {}").format(f"{begins} 00:00:00+00", f"{ends} 00:00:00+00")
        cursor.execute(
            sql.SQL(
                "CREATE TABLE {table} (LIKE score_attempts INCLUDING DEFAULTS, CONSTRAINT {check} CHECK ({span}));"
                "CREATE UNIQUE INDEX ON {table} (player_id, attempt_id);"
                "CREATE INDEX ON {table} (mode_id, player_id) WHERE state = 1;"  # in quarantine: few
                "ALTER TABLE score_attempts ATTACH PARTITION {table} FOR VALUES FROM ({begins}) TO ({ends});"
                "ALTER TABLE {table} DROP CONSTRAINT {check}"
            ).format(
                table=table,
                check=sql.Identifier(f"{name(day)}_day"),
                span=span,
                begins=f"{begins} 00:00:00+00",
                ends=f"{ends} 00:00:00+00",
            )
        )
        return True


def days() -> list[date]:
    """That the log has, in their order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT substring(relname FROM '[0-9]{8}$')::date FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid"
            " WHERE inhparent = 'score_attempts'::regclass ORDER BY 1"
        )
        return [row[0] for row in cursor.fetchall()]


def days_between(since: datetime, until: datetime) -> list[date]:
    """Those on which something may have arrived from then to then, as far back as the log goes."""
    return [day for day in days() if day_of(since) <= day <= day_of(until)]


def first_day() -> date | None:
    """How far back the log goes."""
    return next(iter(days()), None)


def recent_since(at: datetime) -> datetime:
    """No attempt that is still known then has arrived earlier: for statements that are to leave older days alone."""
    return at - timedelta(days=RECENT + 1)


def settle(day: date) -> None:
    """Waits for whoever is writing to a day: what had arrived by now is there for the next statement to see.

    Who wants to write waits behind us, so not for long. The lock goes with its savepoint, and nobody holds it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [Lock.DAY, (day - date(1970, 1, 1)).days])
        transaction.set_rollback(True)


def existing_beside(day: date) -> list[str]:
    """Those of other days in which a repeated attempt may be: just before, and the next, from which a database's clock
    that was set back, or another database that takes over, may have come.
    """
    if (day, _database()) in _complete:
        return _names_beside(day)
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r'", [_names_beside(day)])
        found = sorted(row[0] for row in cursor.fetchall())
    if len(found) == RECENT + 1:  # those of days that are still looked at are not dropped
        _complete.add((day, _database()))
    return found


def _names_beside(day: date) -> list[str]:
    return sorted(name(day - timedelta(days=offset)) for offset in (-1, *range(1, RECENT + 1)))


def _database() -> str:
    return str(connection.settings_dict["NAME"])


_complete: set[tuple[date, str]] = set()  # days beside which all partitions are there
