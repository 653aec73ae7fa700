"""One commit: attempts into the log with the values they bring, and outbox rows for their streams. All, or nothing."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from django.db import OperationalError, ProgrammingError, connection, transaction
from psycopg import errors as pg

from config import clock
from config.errors import Unavailable
from leaderboards import dimension_values, log, outbox, partitions, verdicts
from leaderboards.candidates import Candidate
from leaderboards.dimension_values import Value, Wish
from leaderboards.log import Arrival, Attempt, Key, Logged, State
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.rules.instants import micros
from leaderboards.rules.mode import locked_changes
from leaderboards.verdicts import Found
from players.access import Kind

_TRIES = 5


def scores_commit(*, batch: Sequence[Candidate], players: Mapping[str, int]) -> list[outbox.Stream]:
    """The streams to ring for. Each of the batch has what became of it: whatever two callers send at the same time,
    an attempt is in the log once.
    """
    first: dict[Key, Candidate] = {}
    for one in batch:
        one.player = players[one.player_id]
        one.taken = first.setdefault((one.player, one.attempt_id), one) is not one
    attempts = {key: _attempt(one) for key, one in first.items()}
    for _ in range(_TRIES):
        try:
            with transaction.atomic(durable=True):
                streams = _write(first, attempts)
        except ProgrammingError as error:
            if not isinstance(error.__cause__, pg.UndefinedTable):
                raise
            partitions.make_ahead(partitions.today())
        except OperationalError as error:
            if not isinstance(error.__cause__, pg.DeadlockDetected):
                raise
        else:
            for one in batch:
                if one.taken:
                    one.logged = first[one.player, one.attempt_id].logged
            return streams
    raise Unavailable("The log is too busy.", retry_after=1)


def _attempt(one: Candidate) -> Attempt:
    return Attempt(
        one.mode_id,
        one.player,
        one.attempt_id,
        one.score,
        one.achieved_at,
        one.windows,
        one.state,
        one.caller.key,
        _json(one.dimensions),
        None,
        one.metadata,
        msgspec.json.encode(one.client).decode() if one.client else None,
        json.dumps(one.reasons) if one.reasons else None,
    )


def _json(dimensions: Mapping[str, str]) -> str | None:
    return json.dumps(dimensions) if dimensions else None


def _write(first: Mapping[Key, Candidate], attempts: Mapping[Key, Attempt]) -> list[outbox.Stream]:
    arrival = log.enter()
    if not clock.heard(arrival.at):
        raise clock.ClockWasWrong("The clock of this process was wrong.", retry_after=1)
    arrived, new = arrival.at, _append(first, attempts, arrival)
    known = [key for key in first if key not in new] if len(new) != len(first) else []
    before = log.find(known, since=partitions.recent_since(arrived))
    rows: dict[int, list[ScoreRow]] = {}
    modes: dict[int, Mode] = {}
    found: list[Found] = []
    at = micros(last := arrived)
    for key, one in first.items():
        id_ = new.get(key)
        if id_ is None:
            one.logged, one.known = before[key], True
            continue
        one.known = False  # whatever a try before this one found
        dimensions = one.counting
        one.logged = Logged(
            id_, one.mode_id, one.score, one.achieved_at, one.windows, one.state, dimensions, one.left_out
        )
        modes[one.mode_id] = one.mode
        if one.verdicts:
            found += _found(one, id_, arrived)
        counting = rows.setdefault(one.mode_id, [])
        if one.state is State.ACCEPTED:
            if one.achieved_at is not last:  # whoever does not say when it was has the batch's own moment
                at = micros(last := one.achieved_at)
            counting.append(ScoreRow(one.player, one.score, at, id_, one.windows, dimensions))
    verdicts.record(found)
    return _streams(rows, modes, arrived)


def _append(first: Mapping[Key, Candidate], attempts: Mapping[Key, Attempt], arrival: Arrival) -> dict[Key, int]:
    """The ids of those that are new. Only these bring new values: a repetition or a conflict takes no room."""
    doubtful = {key: one for key, one in first.items() if one.dimensions and not dimension_values.are_known(one.values)}
    chosen = _new_values(doubtful, attempts, arrival.at) if doubtful else {}
    new = log.append(list(attempts.values()), arrival=arrival)
    if chosen:
        brought = {value for key, one in doubtful.items() if key in new for value in one.values}
        dimension_values.keep({value: chosen[value] for value in chosen if value in brought}, at=arrival.at)
    return new


def _new_values(
    doubtful: Mapping[Key, Candidate], attempts: Mapping[Key, Attempt], at: datetime
) -> dict[Value, int | None]:
    """Decides which new values the scores bring, and which scopes they leave out: in the log this is fixed."""
    dimension_values.learn(value for one in doubtful.values() for value in one.values)
    wishes = {key: _wishes(one) for key, one in doubtful.items()}
    hopeful = [key for key, some in wishes.items() if some]
    logged = log.find(hopeful, since=partitions.recent_since(at))
    chosen = dimension_values.choose([wish for key in hopeful if key not in logged for wish in wishes[key]], at=at)
    for key, one in doubtful.items():
        one.left_out = {
            value[1]: value[2]
            for value in one.values
            if value not in chosen and not dimension_values.are_known([value])
        }
        attempts[key].dimensions, attempts[key].left_out = _json(one.counting), _json(one.left_out)
    return chosen


def _wishes(one: Candidate) -> list[Wish]:
    player = None if one.caller.kind is Kind.KEY else one.player
    wishes = [Wish(value, one.mode, player) for value in one.values if not dimension_values.are_known([value])]
    return [wish for wish in wishes if wish.allowed]


def _found(one: Candidate, id_: int, arrived: datetime) -> list[Found]:
    return [Found(one.mode, one.player, id_, one.attempt_id, arrived, one.score, verdict) for verdict in one.verdicts]


def _streams(rows: Mapping[int, list[ScoreRow]], modes: Mapping[int, Mode], arrived: datetime) -> list[outbox.Stream]:
    streams: list[outbox.Stream] = []
    for mode_id in sorted(rows):
        shards = modes[mode_id].shards
        streams += outbox.add_scores(mode_id, shards, rows[mode_id], arrived=micros(arrived))
        if _first_score(modes[mode_id], arrived):  # a board is read from all its shards: the others are made, empty
            streams += [stream for shard in range(shards) if (stream := (mode_id, shard)) not in streams]
    return streams


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
