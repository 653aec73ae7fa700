"""One commit: attempts into the log, and a row for each stream touched into the outbox. All of it, or nothing."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from django.db import OperationalError, ProgrammingError, connection, transaction
from psycopg import errors as pg

from config.errors import Unavailable
from leaderboards import log, outbox, partitions
from leaderboards.candidates import Candidate
from leaderboards.log import Attempt, Key, Logged, State
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.rules.instants import micros
from leaderboards.rules.mode import locked_changes

_TRIES = 5
Results = dict[Key, tuple[Logged, bool]]  # what the log has, and whether it had it before


def scores_commit(*, batch: Sequence[Candidate], players: Mapping[str, int]) -> tuple[Results, list[outbox.Stream]]:
    """What became of each, and the streams to ring for. Whatever two callers send at the same time, each is in once."""
    attempts: dict[Key, Attempt] = {}
    for one in batch:
        attempt = _attempt(one, players[one.player_id])
        one.taken = attempts.setdefault(attempt.key, attempt) is not attempt
    for _ in range(_TRIES):
        try:
            with transaction.atomic(durable=True):
                return _write(attempts, {one.mode.pk: one.mode for one in batch})
        except ProgrammingError as error:
            if not isinstance(error.__cause__, pg.UndefinedTable):
                raise
            partitions.make_ahead(partitions.today())
        except OperationalError as error:
            if not isinstance(error.__cause__, pg.DeadlockDetected):
                raise
    raise Unavailable("The log is too busy.", retry_after=1)


def _attempt(one: Candidate, player: int) -> Attempt:
    return Attempt(
        mode_id=one.mode.pk,
        player_id=player,
        attempt_id=one.attempt_id,
        score=one.score,
        achieved_at=one.achieved_at,
        windows=one.windows,
        key_id=one.caller.key,
        dimensions=json.dumps(one.dimensions) if one.dimensions else None,
        metadata=one.metadata,
        client=msgspec.json.encode(one.client).decode() if one.client else None,
        state=one.state,
        reasons=json.dumps(one.reasons) if one.reasons else None,
    )


def _write(attempts: Mapping[Key, Attempt], modes: Mapping[int, Mode]) -> tuple[Results, list[outbox.Stream]]:
    arrived = log.enter()
    new = log.append(list(attempts.values()), arrived=arrived)
    before = log.find([key for key in attempts if key not in new], since=partitions.recent_since(arrived))
    results: Results = {key: (logged, True) for key, logged in before.items()}
    rows: dict[int, list[ScoreRow]] = {}
    for key, id_ in new.items():
        one = attempts[key]
        dimensions = json.loads(one.dimensions) if one.dimensions else {}
        results[key] = Logged(id_, one.mode_id, one.score, one.achieved_at, one.windows, one.state, dimensions), False
        counting = rows.setdefault(one.mode_id, [])
        if one.state is State.ACCEPTED:
            counting.append(ScoreRow(key[0], one.score, micros(one.achieved_at), id_, one.windows, dimensions))
    streams: list[outbox.Stream] = []
    for mode_id in sorted(rows):
        shards = modes[mode_id].shards
        streams += outbox.add_scores(mode_id, shards, rows[mode_id], arrived=micros(arrived))
        if _first_score(modes[mode_id], arrived):  # a board is read from all its shards: the others are made, empty
            streams += [stream for shard in range(shards) if (stream := (mode_id, shard)) not in streams]
    return results, streams


def _first_score(mode: Mode, arrived: datetime) -> bool:
    """From now on the rules that scores depend on are locked, and the streams have their consumers' rows."""
    if mode.first_score_at is not None:
        return False
    now = Mode.objects.select_for_update(no_key=True).get(pk=mode.pk)
    if now.shards != mode.shards or locked_changes(mode.rules, now.rules):  # since the score was read by them
        raise Unavailable(f"The rules of {mode.slug} are just being changed.", retry_after=1)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leaderboards_stream (mode_id, shard, seq) SELECT %s, generate_series(0, %s - 1), 0"
            " ON CONFLICT DO NOTHING",
            [mode.pk, mode.shards],
        )
        cursor.execute(
            "UPDATE leaderboards_mode SET first_score_at = %s WHERE id = %s AND first_score_at IS NULL",
            [arrived, mode.pk],
        )
    return True
