"""A season brought into the log, as if it had been played: its players, its attempts, each on its day of arrival."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from anticheat.season.people import DAYS, Person
from anticheat.season.play import Play, build_of
from anticheat.season.season import season
from leaderboards import partitions
from leaderboards.models import Mode
from leaderboards.rules.windows import KINDS

BEGINS = datetime(2026, 10, 1, tzinfo=UTC)
ENDS = BEGINS + timedelta(days=DAYS)
_BLOCK = 1 << 16  # characters that are handed over at once
_NUMBER = 1 << 32  # of attempts, more than any player makes: an attempt's id tells whose it is


class Loaded(NamedTuple):
    players: dict[int, int]  # number in the season, by pk
    attempts: int


def season_load(*, mode: Mode, seed: int, players: int) -> Loaded:
    """Into a database that has nothing of this mode yet."""
    for day in range(DAYS + 1):
        partitions.make((BEGINS + timedelta(days=day)).date())
    with transaction.atomic(durable=not connection.in_atomic_block), connection.cursor() as cursor:
        cursor.execute(_STAGE)
        people: list[Person] = []
        with cursor.copy("COPY season_plays FROM STDIN") as copy:
            for block in _blocks(_lines(seed, players, people)):
                copy.write(block)
        with cursor.copy(f"COPY players_player ({_PLAYER}) FROM STDIN") as copy:
            for block in _blocks(_player_line(mode.game_id, one) for one in people):
                copy.write(block)
        cursor.execute(_LOG, {"game": mode.game_id, "mode": mode.pk, "windows": _windows(mode)})
        attempts = cursor.rowcount
        cursor.execute("SELECT setval('score_attempts_id_seq', (SELECT max(id) FROM score_attempts) + 10000)")
        cursor.execute("SELECT id, substr(player_id, 3)::int FROM players_player WHERE game_id = %s", [mode.game_id])
        numbers = dict(cursor.fetchall())
        cursor.execute("DROP TABLE season_plays")
    Mode.objects.filter(pk=mode.pk).update(first_score_at=BEGINS)
    return Loaded(numbers, attempts)


def _lines(seed: int, players: int, people: list[Person]) -> Iterator[str]:
    for person, plays in season(seed, players):
        people.append(person)
        for number, play in enumerate(plays):
            yield _play_line(person, number, play)


def _play_line(person: Person, number: int, play: Play) -> str:
    client = {
        "address": play.address,
        "device": play.device,
        "session_id": f"{person.number}-{play.session}",
        "platform": person.platform,
        "build": build_of(play.achieved_at),
    }
    attempt = UUID(int=person.number * _NUMBER + number)
    return (
        f"{person.number}\t{_at(play.received_at)}\t{_at(play.achieved_at)}\t{attempt}"
        f"\t{play.score}\t{json.dumps(client)}\n"
    )


def _player_line(game: int, person: Person) -> str:
    name = f"p-{person.number}"
    return f"{game}\t{name}\t{name}\t{person.country}\t\t\t{_at(person.joined)}\n"


def _at(seconds: float) -> str:
    return (BEGINS + timedelta(seconds=seconds)).isoformat()


def _blocks(lines: Iterator[str]) -> Iterator[str]:
    held, size = [], 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size > _BLOCK:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _windows(mode: Mode) -> int:
    return sum(1 << bit for bit, kind in enumerate(KINDS) if kind in mode.windows)


_PLAYER = "game_id, player_id, display_name, country, region, avatar_url, created_at"
_STAGE = """
CREATE TEMPORARY TABLE season_plays (
    number int, received_at timestamptz, achieved_at timestamptz, attempt_id uuid, score bigint, client jsonb
)
"""
_LOG = """
INSERT INTO score_attempts (id, received_at, mode_id, player_id, attempt_id, score, achieved_at, windows, client)
SELECT (SELECT coalesce(max(id), 0) FROM score_attempts) + row_number() OVER (ORDER BY s.received_at, s.attempt_id),
    s.received_at, %(mode)s, p.id, s.attempt_id, s.score, s.achieved_at, %(windows)s, s.client
FROM season_plays s JOIN players_player p ON p.game_id = %(game)s AND p.player_id = 'p-' || s.number
ORDER BY s.received_at, s.attempt_id
"""
