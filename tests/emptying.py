"""Between two tests that commit, the database is emptied: what holds rows is deleted, not all of it truncated.

Django truncates every table and writes content types and permissions anew, 0.2 s each time; most tests touch a
dozen tables of seventy. Here all are locked, as by a truncation (who still writes is waited for), what is small is
deleted, what has grown is truncated, and what migrations wrote stays.
"""

from django.db import OperationalError, connection
from psycopg.errors import DeadlockDetected

KEPT = ("django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions")
_GROWN_BYTES = 100_000

_MAKE = """
CREATE OR REPLACE FUNCTION test_empty() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names text;
    one record;
BEGIN
    SELECT string_agg(oid::regclass::text, ', ') INTO names
      FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL (%(kept)s);
    EXECUTE 'LOCK TABLE ' || names || ' IN ACCESS EXCLUSIVE MODE';
    SET LOCAL session_replication_role = replica;  -- every table is emptied: no key is left to look after
    FOR one IN SELECT oid::regclass AS name, pg_relation_size(oid) AS size FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL (%(kept)s)
                  AND pg_relation_size(oid) > 0
    LOOP
        IF one.size > %(grown)s THEN
            EXECUTE 'TRUNCATE ' || one.name || ' CASCADE';
        ELSE
            EXECUTE 'DELETE FROM ' || one.name;
        END IF;
    END LOOP;
END $$
"""


def prepare() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_MAKE, {"kept": list(KEPT), "grown": _GROWN_BYTES})


def empty() -> None:
    """Once more where somebody who still reads held one table and wanted another."""
    try:
        _empty()
    except OperationalError as error:
        if not isinstance(error.__cause__, DeadlockDetected):
            raise
        _empty()


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT test_empty()")
