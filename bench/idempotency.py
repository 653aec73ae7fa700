"""`python -m bench.idempotency`: one attempt once, over days: a key table against looking into the last two of the log.

The same rows into the same columns, in batches of 1,000 with every tenth sent before, by one connection, fsync on; the
two ways in turn, so that what the machine does meanwhile meets both.
"""

import tempfile
import time
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from config.embedded.servers import embedded_servers

BATCH, BATCHES, BEFORE = 1000, 60, 300_000
ROW = "id bigint GENERATED ALWAYS AS IDENTITY, received_at timestamptz, player_id bigint, attempt_id uuid, score bigint"
INPUT = "FROM unnest(%s::bigint[], %s::uuid[]) AS i (player_id, attempt_id)"
LOOKING = f"""
INSERT INTO looking (received_at, player_id, attempt_id, score) SELECT now(), i.player_id, i.attempt_id, 7 {INPUT}
LEFT JOIN LATERAL (
    SELECT 1 AS seen FROM before1 b WHERE (b.player_id, b.attempt_id) = (i.player_id, i.attempt_id)
) b1 ON true
LEFT JOIN LATERAL (
    SELECT 1 AS seen FROM before2 b WHERE (b.player_id, b.attempt_id) = (i.player_id, i.attempt_id)
) b2 ON true
WHERE b1.seen IS NULL AND b2.seen IS NULL ON CONFLICT DO NOTHING RETURNING id
"""
KEYED = f"""
WITH new AS (INSERT INTO keys SELECT i.player_id, i.attempt_id {INPUT} ON CONFLICT DO NOTHING RETURNING *)
INSERT INTO keyed (received_at, player_id, attempt_id, score)
    SELECT now(), player_id, attempt_id, 7 FROM new RETURNING id
"""


def _prepare(connection: psycopg.Connection) -> None:
    for table in ("looking", "keyed", "before1", "before2"):
        connection.execute(f"CREATE TABLE {table} ({ROW})")
    connection.execute("CREATE TABLE keys (player_id bigint, attempt_id uuid) PARTITION BY HASH (player_id)")
    for part in range(8):
        connection.execute(f"CREATE TABLE keys{part} PARTITION OF keys FOR VALUES WITH (MODULUS 8, REMAINDER {part})")
    connection.execute("CREATE UNIQUE INDEX ON keys (player_id, attempt_id)")
    for table in ("looking", "before1", "before2"):
        connection.execute(f"CREATE UNIQUE INDEX ON {table} (player_id, attempt_id)")
    connection.execute("CREATE INDEX ON keyed (player_id)")  # a player's attempts want an index either way
    for table in ("before1", "before2"):
        connection.execute(
            f"INSERT INTO {table} (received_at, player_id, attempt_id, score)"
            f" SELECT now(), n % 100000, gen_random_uuid(), 7 FROM generate_series(1, {BEFORE}) n"
        )
        connection.execute(f"INSERT INTO keys SELECT player_id, attempt_id FROM {table}")
    connection.execute("VACUUM ANALYZE")


def _batches() -> list[tuple[list[int], list[UUID]]]:
    found: list[tuple[list[int], list[UUID]]] = []
    sent: list[tuple[int, UUID]] = []
    for number in range(BATCHES):
        new = [((number * BATCH + n) * 7919 % 100_000, uuid4()) for n in range(BATCH)]
        rows = sorted(new[: BATCH * 9 // 10] + sent[-(BATCH // 10) :])
        sent = new[: BATCH * 9 // 10]
        found.append(([player for player, _ in rows], [attempt for _, attempt in rows]))
    return found


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="rung-bench-") as folder,
        embedded_servers(Path(folder), durable=True) as own,
        psycopg.connect(own.database_url, autocommit=True) as connection,
    ):
        _prepare(connection)
        spent = {LOOKING: 0.0, KEYED: 0.0}
        for players, attempts in _batches():
            for way in spent:
                began = time.perf_counter()
                connection.execute(way, [players, attempts], prepare=True)
                spent[way] += time.perf_counter() - began
    looking, keyed = (BATCH * BATCHES / seconds for seconds in spent.values())
    print(f"the last two days {looking:,.0f} rows/s, a key table {keyed:,.0f} rows/s, {looking / keyed:.2f} : 1")


if __name__ == "__main__":
    main()
