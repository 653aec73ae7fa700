"""What stores leave for later: a measurement does not begin before it is done, or it would be of the one before."""

import os
import sys
import time

import psycopg
import redis

_LEFT = (
    "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker')"
    " + (SELECT count(*) FROM leaderboards_outbox)"
)


def settle(seconds: float) -> None:
    """Until nothing is written back, vacuumed, rewritten, freed or left to the drainer; what takes longer is said."""
    boards = redis.Redis.from_url(os.environ["VALKEY_URL"].replace("valkey://", "redis://"))
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as database:
        database.execute("CHECKPOINT")
        deadline = time.monotonic() + seconds
        while left := _left(boards, database):
            if time.monotonic() > deadline:
                print(f"not quiet: {', '.join(left)}", file=sys.stderr, flush=True)
                return
            time.sleep(0.2)


def _left(boards: redis.Redis, database: psycopg.Connection[tuple[int]]) -> list[str]:
    told = boards.info()
    found = {
        name: told[name] for name in ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "lazyfree_pending_objects")
    }
    found["PostgreSQL"] = (database.execute(_LEFT).fetchone() or (0,))[0]
    return [f"{name} {number}" for name, number in found.items() if number]
