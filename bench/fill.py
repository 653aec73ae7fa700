"""A game with N players, straight into PostgreSQL; its boards by a rebuild. In a process of its own, with Django."""

import os
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg

from bench import mix
from leaderboards.rules.windows import kind_named, timezone_named, window_at

Connection = psycopg.Connection[tuple[Any, ...]]
PROBES = 64  # players beside the N, one for each connection that sends batches


@dataclass(frozen=True, slots=True)
class Filled:
    """What the measurements have to know of the game."""

    players: int
    key: str
    key_id: int
    modes: dict[str, int]
    generations: dict[str, int]
    first_player: int  # pk of player 1; those of the others follow
    rebuilt_per_second: dict[str, float]  # entries


def fill(players: int) -> Filled:
    """Migrates, declares, fills."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django  # noqa: PLC0415 - the servers are known by now

    django.setup()
    key, key_id = _declare()
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        modes = _by_mode(connection, "id")
        first = _players(connection, players)
        _standings(connection, modes, players, first)
        rebuilt = {slug: rebuild(pk) for slug, pk in modes.items()}
        _forget_floor(connection, modes["floor"])
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
        generations = _by_mode(connection, "generation")
    return Filled(players, key, key_id, modes, generations, first, rebuilt)


def _by_mode(connection: Connection, column: str) -> dict[str, int]:
    rows = connection.execute(f"SELECT slug, {column} FROM leaderboards_mode".encode()).fetchall()
    return {str(slug): int(value) for slug, value in rows}


def _declare() -> tuple[str, int]:
    from django.core.management import call_command  # noqa: PLC0415 - after the settings

    from leaderboards import partitions  # noqa: PLC0415
    from players.models import ApiKey  # noqa: PLC0415

    call_command("migrate", interactive=False, verbosity=0)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(mix.CONFIG)
        file.flush()
        call_command("apply_config", Path(file.name), stdout=StringIO())
    partitions.make_ahead(partitions.today())
    said = StringIO()
    call_command("create_key", mix.GAME, stdout=said)
    return said.getvalue().strip(), ApiKey.objects.get().pk


def rebuild(mode_id: int) -> float:
    """Entries a second."""
    from django.utils import timezone  # noqa: PLC0415 - after the settings

    from leaderboards.models import Mode  # noqa: PLC0415
    from leaderboards.services.rebuilding import mode_rebuild, mode_tidy  # noqa: PLC0415

    mode, entries = Mode.objects.get(pk=mode_id), [0]

    def count(some: int) -> None:
        entries[0] += some

    began = time.monotonic()
    mode_rebuild(mode=mode, now=timezone.now(), progress=count)
    took = time.monotonic() - began
    mode_tidy(mode=mode)
    return entries[0] / took


def _players(connection: Connection, players: int) -> int:
    countries = "ARRAY[" + ", ".join(f"'{one}'" for one in mix.COUNTRIES) + "]"
    country = f"({countries})[mod(n / {mix.NEWCOMERS}, {len(mix.COUNTRIES)}) + 1]"
    connection.execute(
        f"""
        INSERT INTO players_player (game_id, player_id, display_name, country, region, avatar_url, created_at)
        SELECT g.id, 'p-' || n, 'Player ' || n, {country}, '', '', now()
        FROM players_game g, generate_series(1, %s) n WHERE g.slug = %s ORDER BY n
        """,
        [players + PROBES, mix.GAME],
    )
    query = "SELECT min(id), max(id) - min(id) + 1 FROM players_player"
    first, numbers = connection.execute(query).fetchone() or (0, 0)
    if numbers != players + PROBES:
        raise RuntimeError("The players' numbers have gaps.")
    return int(first)


def _standings(connection: Connection, modes: dict[str, int], players: int, first: int) -> None:
    for slug, mode in modes.items():
        played = "true" if slug == "one" else f"mod(n, {mix.NEWCOMERS}) <> 0"
        who = f"generate_series(1, {players}) n WHERE {played}"
        connection.execute(
            "INSERT INTO leaderboards_placement (mode_id, player_id, region, country, listed)"
            " SELECT %s, id, '', country, true FROM (SELECT p.*, p.id - %s AS n FROM players_player p) p"
            f" WHERE n <= {players} AND {played}",
            [mode, first - 1],
        )
        for window in ("alltime",) if slug == "one" else mix.filled(players):
            score = mix.BEST_SQL + (f" - {mix.SPREAD}" if window == "daily" else "")
            connection.execute(
                'INSERT INTO leaderboards_standing (mode_id, player_id, "window", scope, score, achieved_at, attempt,'
                f" received_at) SELECT %s, n + %s, %s, '', {score}, now(), n, now() FROM {who}",
                [mode, first - 1, window_id(window)],
            )
        connection.execute("UPDATE leaderboards_mode SET first_score_at = now() WHERE id = %s", [mode])
        connection.execute("INSERT INTO leaderboards_stream (mode_id, shard, seq) VALUES (%s, 0, 1)", [mode])


def _forget_floor(connection: Connection, mode: int) -> None:
    """The floors write past the product: it must not believe that it has to look after that mode's boards."""
    connection.execute("DELETE FROM leaderboards_stream WHERE mode_id = %s", [mode])
    connection.execute("UPDATE leaderboards_mode SET first_score_at = NULL WHERE id = %s", [mode])


def window_id(kind: str) -> str:
    return window_at(kind_named(kind), datetime.now(UTC), timezone_named("UTC")).id
