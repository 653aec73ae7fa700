"""Which attempts a rollback is about: of a player, of a key, of a mode, of a build, between two moments of arrival."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, NamedTuple

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from anticheat.models import Rollback
from config.errors import InvalidRequest
from config.moments import moments_check
from leaderboards import partitions
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.rules.mode import DIMENSION

CLIENT = ("address", "device", "session_id", "platform", "build")  # what a submission tells of where it was made
MOST_PREDICATES = 8
_LONGEST_VALUE = 200
_PATIENCE_MS = 15_000


class TooMuch(InvalidRequest):
    """To be looked at while somebody waits. It can be done all the same."""


class Extent(NamedTuple):
    """How much a rollback is about. `log_since`: the log goes back to this day, and no further."""

    attempts: int
    counting: int  # of these, now
    players: int
    log_since: date | None


def selection_check(one: Rollback) -> None:
    """Whoever means everything has to say so, mode by mode."""
    if not (one.mode_id or one.player_id or one.key_id):
        raise InvalidRequest("A rollback names a mode, a player or a key.")
    if one.attempt_id and not one.player_id:
        raise InvalidRequest("A rollback of one attempt names its player.")
    moments_check(since=one.since, until=one.until)
    if one.since >= one.until:
        raise InvalidRequest("since: must lie before until.", errors={"since": ["not before until"]})
    if len(one.predicate) > MOST_PREDICATES:
        raise InvalidRequest(f"predicate: {MOST_PREDICATES} at most.")
    for name, value in one.predicate.items():
        if name not in CLIENT and not DIMENSION.fullmatch(name):
            raise InvalidRequest(f"predicate: {', '.join(CLIENT)} or a dimension, not {name[:64]!r}.")
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_VALUE or "\0" in value:
            raise InvalidRequest(f"predicate.{name}: a text of 1 to {_LONGEST_VALUE} characters.")


@contextmanager
def patience() -> Iterator[None]:
    """For whoever waits for an answer: what would take longer is refused."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {_PATIENCE_MS}")
            yield
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise TooMuch("That is too much to look at beforehand: name a player, or a shorter time.") from None


def extent(one: Rollback) -> Extent:
    where, values = _where(one)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(*) FILTER (WHERE a.state = %s), count(DISTINCT a.player_id)"  # noqa: S608 - ours
            f" FROM score_attempts a WHERE {where}",
            [State.ACCEPTED, *values],
        )
        attempts, counting, players = cursor.fetchone()
    return Extent(attempts, counting, players, partitions.first_day())


def covered(one: Rollback, *, most: int, players: Collection[int] | None = None) -> dict[tuple[int, int], set[int]]:
    """The ids of counting attempts, by (mode, player): of so many at most. `players`: of these alone."""
    where, values = _where(one)
    if players is not None:
        where, values = f"{where} AND a.player_id = ANY(%s)", [*values, list(players)]
    found: dict[tuple[int, int], set[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT a.mode_id, a.player_id, a.id FROM score_attempts a WHERE {where} AND a.state = %s LIMIT %s",  # noqa: S608
            [*values, State.ACCEPTED, most],
        )
        for mode, player, id_ in cursor.fetchall():
            found.setdefault((mode, player), set()).add(id_)
    return found


def cover(one: Rollback, day: date) -> None:
    """Notes all of that day's as covered, whatever they are now; also those that are just being committed."""
    partitions.settle(day)
    where, values = _where(one)
    begins, ends = partitions.span_of(day)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO anticheat_withdrawal (rollback_id, attempt, mode_id, player_id, received_at)"  # noqa: S608
            f" SELECT %s, a.id, a.mode_id, a.player_id, a.received_at FROM score_attempts a WHERE {where}"
            " AND a.received_at >= %s AND a.received_at < %s ON CONFLICT DO NOTHING",
            [one.pk, *values, begins, ends],
        )


def _where(one: Rollback) -> tuple[str, list[Any]]:
    modes = [one.mode_id] if one.mode_id else list(Mode.objects.filter(game=one.game_id).values_list("pk", flat=True))
    parts = ["a.mode_id = ANY(%s) AND a.received_at >= %s AND a.received_at < %s"]
    values: list[Any] = [modes, one.since, one.until]
    exactly = {"a.player_id": one.player_id, "a.key_id": one.key_id, "a.attempt_id": one.attempt_id}
    for column, wanted in exactly.items():
        if wanted is not None:
            parts.append(f"{column} = %s")
            values.append(wanted)
    for name, wanted in one.predicate.items():
        if name in CLIENT:
            parts.append("a.client ->> %s = %s")
            values += [name, wanted]
        else:  # as submitted: whether the score counts in that scope makes no difference
            parts.append("coalesce(a.dimensions ->> %s, a.left_out ->> %s) = %s")
            values += [name, name, wanted]
    return " AND ".join(parts), values
