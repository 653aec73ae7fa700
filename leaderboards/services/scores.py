"""Submitting scores: one core that takes a batch. Judge, log in one commit, ring."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.utils.timezone import now
from psycopg import errors as pg

from config.errors import DomainError, InvalidRequest, Unavailable
from leaderboards import admission, dimension_values, log, outbox, partitions
from leaderboards.admission import Door
from leaderboards.candidates import Candidate, candidate_of, place_in_windows
from leaderboards.errors import AttemptConflict
from leaderboards.log import Attempt, Key, Logged, State
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.rules.mode import locked_changes
from leaderboards.wire_scores import Submission
from players.access import Caller
from players.errors import PlayerBanned
from players.lookups import GameRecord
from players.models import Ban
from players.selectors import players_known
from players.services import players_register

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Item:
    """One submission of a batch, with the mode it names."""

    mode: Mode
    submission: Submission


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: in the log, now or before."""

    mode: Mode
    player_id: str
    player: int
    attempt_id: UUID
    logged: Logged
    duplicate: bool


_Refused = dict[int, DomainError]  # by index in the batch of candidates
_Look = Callable[[Mapping[str, int]], None]


def scores_submit(
    *, game: GameRecord, caller: Caller, items: Sequence[Item | DomainError], look: _Look | None = None
) -> list[Outcome | DomainError]:
    """Each item's outcome, in order. What is good is durable when this returns; what is not is named.

    `look` is told who the players are, just before their scores are logged.
    """
    door = Door(game, caller, now())
    read = [item if isinstance(item, DomainError) else _read(item, door) for item in items]
    batch = [one for one in read if isinstance(one, Candidate)]
    outcomes = iter(_submitted(batch, door, look) if batch else ())
    return [next(outcomes) if isinstance(one, Candidate) else one for one in read]


def _read(item: Item, door: Door) -> Candidate | DomainError:
    try:
        return candidate_of(item.mode, item.submission, door.caller, door.now)
    except DomainError as error:
        return error


def _submitted(batch: Sequence[Candidate], door: Door, look: _Look | None) -> list[Outcome | DomainError]:
    players = players_known(game=door.game, player_ids={one.player_id for one in batch})
    refused = _refused(batch, players, door)
    strangers = {one.player_id for n, one in enumerate(batch) if n not in refused} - players.keys()
    if strangers:
        made = players_register(game=door.game, player_ids=strangers, at=door.now)
        players |= made
        refused |= _banned(batch, made, door.now)  # erasing oneself is no way out of a ban
    good = [one for n, one in enumerate(batch) if n not in refused]
    if look and good:
        look(players)
    results, streams = _logged(good, players, door.caller) if good else ({}, [])
    outbox.ring(streams)
    known = _repeated([batch[n] for n in refused], players, door.now) if refused else {}
    return [
        _refused_or_known(one, refused[n], players, known) if n in refused else _outcome(one, players, results)
        for n, one in enumerate(batch)
    ]


def _refused(batch: Sequence[Candidate], players: Mapping[str, int], door: Door) -> _Refused:
    """By the modes' rules, by bans, by the checks, and for want of room for another value of a dimension."""
    refused = {n: error for n, one in enumerate(batch) if (error := place_in_windows(one, door.now))}
    refused = _banned(batch, players, door.now) | refused
    refused = admission.judge(batch, door) | refused
    return _unbounded([n for n in range(len(batch)) if n not in refused], batch) | refused


def _banned(batch: Sequence[Candidate], players: Mapping[str, int], at: datetime) -> _Refused:
    if not players:
        return {}
    kinds = (Ban.Kind.BAN, Ban.Kind.SUSPENSION)  # who is shadow banned is not to notice
    bans = Ban.objects.active(at).filter(player_id__in=players.values(), kind__in=kinds)
    banned = set(bans.values_list("player_id", flat=True))
    return {
        n: PlayerBanned(f"{one.player_id} may not submit.")
        for n, one in enumerate(batch)
        if players.get(one.player_id) in banned
    }


def _unbounded(good: Collection[int], batch: Sequence[Candidate]) -> _Refused:
    """Those whose dimensions would take more values than their mode allows."""
    most = {batch[n].mode.pk: batch[n].mode.dimension_values for n in good}
    refused = dimension_values.take((value for n in good for value in batch[n].values), most)
    return {
        n: InvalidRequest("dimensions: the mode takes no more values of this dimension.")
        for n in good
        if not refused.isdisjoint(batch[n].values)
    }


def _repeated(refused: Sequence[Candidate], players: Mapping[str, int], at: datetime) -> dict[Key, Logged]:
    """What is in the log of those that would be refused by now: a token expires, a window closes, a ban comes."""
    keys = [(players[one.player_id], one.attempt_id) for one in refused if one.player_id in players]
    return log.find(keys, since=at - timedelta(days=partitions.RECENT + 1)) if keys else {}


def _refused_or_known(
    one: Candidate, error: DomainError, players: Mapping[str, int], known: Mapping[Key, Logged]
) -> Outcome | DomainError:
    logged = known.get((players.get(one.player_id, 0), one.attempt_id))
    if logged is None or not _is_same(one, logged):
        return error
    return Outcome(one.mode, one.player_id, players[one.player_id], one.attempt_id, logged, duplicate=True)


_Results = dict[Key, tuple[Logged, bool]]


def _logged(
    found: Sequence[Candidate], players: Mapping[str, int], caller: Caller
) -> tuple[_Results, list[outbox.Stream]]:
    """In one commit. Whatever two callers send at the same time, each attempt is in once."""
    attempts: dict[Key, Attempt] = {}
    for one in found:
        attempt = _attempt(one, players[one.player_id], caller)
        one.taken = attempts.setdefault(attempt.key, attempt) is not attempt
    for _ in range(_TRIES):
        try:
            with transaction.atomic(durable=True):
                return _write(attempts, {one.mode.pk: one.mode for one in found})
        except ProgrammingError as error:
            if not isinstance(error.__cause__, pg.UndefinedTable):
                raise
            partitions.make_ahead(partitions.today())
        except OperationalError as error:
            if not isinstance(error.__cause__, pg.DeadlockDetected):
                raise
    raise Unavailable("The log is too busy.", retry_after=1)


def _attempt(one: Candidate, player: int, caller: Caller) -> Attempt:
    return Attempt(
        mode_id=one.mode.pk,
        player_id=player,
        attempt_id=one.attempt_id,
        score=one.score,
        achieved_at=one.achieved_at,
        windows=one.windows,
        key_id=caller.key,
        dimensions=json.dumps(one.dimensions) if one.dimensions else None,
        metadata=one.metadata,
        client=msgspec.json.encode(one.client).decode() if one.client else None,
        state=one.state,
        reasons=json.dumps(one.reasons) if one.reasons else None,
    )


def _write(attempts: Mapping[Key, Attempt], modes: Mapping[int, Mode]) -> tuple[_Results, list[outbox.Stream]]:
    arrived = log.enter()
    new = log.append(list(attempts.values()), arrived=arrived)
    before = log.find(
        [key for key in attempts if key not in new], since=arrived - timedelta(days=partitions.RECENT + 1)
    )
    results: _Results = {key: (logged, True) for key, logged in before.items()}
    rows: dict[int, list[ScoreRow]] = {}
    for key, id_ in new.items():
        one = attempts[key]
        dimensions = json.loads(one.dimensions) if one.dimensions else {}
        results[key] = Logged(id_, one.mode_id, one.score, one.achieved_at, one.windows, one.state, dimensions), False
        counting = rows.setdefault(one.mode_id, [])
        if one.state is State.ACCEPTED:
            counting.append(ScoreRow(key[0], one.score, _micros(one.achieved_at), id_, one.windows, dimensions))
    streams: list[outbox.Stream] = []
    for mode_id in sorted(rows):
        shards = modes[mode_id].shards
        streams += outbox.add_scores(mode_id, shards, rows[mode_id], arrived=_micros(arrived))
        if _first_score(modes[mode_id], arrived):  # a board is read from all its shards: the others are made, empty
            streams += [stream for shard in range(shards) if (stream := (mode_id, shard)) not in streams]
    return results, streams


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


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


def _outcome(one: Candidate, players: Mapping[str, int], results: _Results) -> Outcome | DomainError:
    logged, known = results[players[one.player_id], one.attempt_id]
    if not _is_same(one, logged):
        return AttemptConflict("This attempt was sent before with other content.")
    return Outcome(one.mode, one.player_id, players[one.player_id], one.attempt_id, logged, known or one.taken)


def _is_same(one: Candidate, logged: Logged) -> bool:
    same = (logged.mode_id, logged.score, logged.dimensions) == (one.mode.pk, one.score, one.dimensions)
    return same and not (one.timed and logged.achieved_at != one.achieved_at)
