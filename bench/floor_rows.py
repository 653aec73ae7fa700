"""The rows that the product writes of a batch, by bare psycopg: log, outbox, standings, placements, in one commit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgpack
import psycopg

from bench import mix
from bench.fill import window_id
from config.sql import numbers, texts

Columns = dict[str, Any]
_LOG = """
INSERT INTO score_attempts_{day}
    (received_at, mode_id, player_id, attempt_id, score, achieved_at, windows, state, key_id)
SELECT now(), %(mode)s, i.player, i.attempt, i.score, now(), 15, 0, %(key)s
FROM unnest(%(players)s::bigint[], %(attempts)s::uuid[], %(scores)s::bigint[]) AS i (player, attempt, score)
ON CONFLICT DO NOTHING
"""
_OUTBOX = """
INSERT INTO leaderboards_outbox (mode_id, shard, kind, payload, tries, created_at)
VALUES (%(mode)s, 0, 0, %(payload)s, 0, clock_timestamp())
"""
_STANDINGS = """
INSERT INTO leaderboards_standing (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)
SELECT %(mode)s, i.player, i.win, '', i.score, now(), i.attempt, now()
FROM unnest(%(changed)s::bigint[], %(windows)s::text[], %(bests)s::bigint[], %(serials)s::bigint[])
    AS i (player, win, score, attempt)
ON CONFLICT (mode_id, player_id, "window", scope) DO UPDATE
SET score = EXCLUDED.score, achieved_at = EXCLUDED.achieved_at, attempt = EXCLUDED.attempt,
    received_at = EXCLUDED.received_at
"""
_PLACEMENTS = """
INSERT INTO leaderboards_placement (mode_id, player_id, region, country, listed)
SELECT %(mode)s, i.player, '', i.country, true
FROM unnest(%(new)s::bigint[], %(countries)s::text[]) AS i (player, country)
ON CONFLICT (mode_id, player_id) DO NOTHING
"""
# the product's drainer takes the row away, too; here before anybody sees it
_TAKE = "DELETE FROM leaderboards_outbox WHERE mode_id = %(mode)s"


@contextmanager
def acts(job: Any, environ: Mapping[str, str]) -> Iterator[Sequence[Callable[[], object]]]:
    with psycopg.connect(environ["DATABASE_URL"], autocommit=True) as connection:
        log = _LOG.format(day=f"{datetime.now(UTC):%Y%m%d}")
        yield [partial(_write, connection, log, one) for one in _made(job)]


def _write(connection: "psycopg.Connection[Any]", log: Any, batch: Columns) -> None:
    with connection.transaction():
        connection.execute(log, batch, prepare=True)
        connection.execute(_OUTBOX, batch, prepare=True)
        connection.execute(_STANDINGS, batch, prepare=True)
        connection.execute(_PLACEMENTS, batch, prepare=True)
        connection.execute(_TAKE, batch, prepare=True)


def _made(job: Any) -> list[Columns]:
    seen: dict[tuple[int, str], int] = {}
    windows = {kind: window_id(kind) for kind in mix.WINDOWS}
    return [_columns(job.filled, drawn, windows, seen) for drawn in job.drawn()]


def _columns(
    filled: Any, drawn: list[mix.Draw], windows: Mapping[str, str], seen: dict[tuple[int, str], int]
) -> Columns:
    pk = filled.first_player - 1
    rows = sorted(drawn, key=lambda one: (one.number, one.serial))
    changed = sorted(mix.changes(drawn, players=filled.players, seen=seen).items())
    new = sorted({number for (number, _), _ in changed if mix.is_newcomer(number)})
    payload = [1, [[pk + one.number, one.score, 1_700_000_000_000_000, one.serial, 15, {}] for one in rows], 0]
    return {
        "mode": filled.modes["floor"],
        "key": filled.key_id,
        "players": numbers(pk + one.number for one in rows),
        "attempts": texts(mix.attempt_id(one.serial) for one in rows),
        "scores": numbers(one.score for one in rows),
        "payload": msgpack.packb(payload),
        "changed": numbers(pk + number for (number, _), _ in changed),
        "windows": texts(windows[window] for (_, window), _ in changed),
        "bests": numbers(one.score for _, one in changed),
        "serials": numbers(one.serial for _, one in changed),
        "new": numbers(pk + number for number in new),
        "countries": texts(mix.country(number) for number in new),
    }
