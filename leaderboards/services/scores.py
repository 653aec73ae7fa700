"""Submitting scores: one core that takes a batch. Judge, log in one commit, ring."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.utils.timezone import now
from msgspec import UNSET
from psycopg import errors as pg

from config.errors import DomainError, InvalidRequest, Unavailable
from leaderboards import dimension_values, log, outbox, partitions
from leaderboards.errors import (
    AttemptConflict,
    ModeInactive,
    ScoreOutOfBounds,
    TimeOutOfRange,
    WindowClosed,
)
from leaderboards.log import Attempt, Key, Logged
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow
from leaderboards.rules import encoding, windows
from leaderboards.rules.mode import DIMENSION_VALUE, PLAYERS_OWN, ModeRules
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.errors import PlayerBanned
from players.lookups import GameRecord
from players.models import Ban
from players.names import check_player_id
from players.services import players_register

LARGEST_METADATA = 2048
FUTURE = timedelta(seconds=5)
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


@dataclass(slots=True)
class _Candidate:
    mode: Mode
    player_id: str
    attempt_id: UUID
    score: int
    achieved_at: datetime
    timed: bool  # whether the caller said when; else a repetition has another time by nature
    windows: int
    dimensions: dict[str, str]
    metadata: str | None
    client: str | None
    taken: bool = False  # by an earlier item of the same batch

    @property
    def values(self) -> list[dimension_values.Value]:
        return [(self.mode.pk, name, value) for name, value in self.dimensions.items()]


_Judged = _Candidate | DomainError


def scores_submit(
    *,
    game: GameRecord,
    caller: Caller,
    items: Sequence[Item | DomainError],
    look: Callable[[Mapping[str, int]], None] | None = None,
) -> list[Outcome | DomainError]:
    """Each item's outcome, in order. What is good is durable when this returns; what is not is named.

    `look` is told who the players are, just before their scores are logged.
    """
    arrived = now()
    judged = [item if isinstance(item, DomainError) else _judged(item, caller, arrived) for item in items]
    judged = _bounded(judged)  # first, lest one who is refused is registered
    good = [found for found in judged if isinstance(found, _Candidate)]
    players = players_register(game=game, player_ids={found.player_id for found in good}, at=arrived) if good else {}
    judged = _unbanned(judged, players, arrived)
    good = [found for found in judged if isinstance(found, _Candidate)]
    if look and good:
        look(players)
    results, streams = _logged(good, players, caller) if good else ({}, [])
    outbox.ring(streams)
    return [_outcome(found, players, results) if isinstance(found, _Candidate) else found for found in judged]


def _unbanned(found: Sequence[_Judged], players: Mapping[str, int], arrived: datetime) -> list[_Judged]:
    if not players:
        return list(found)
    kinds = (Ban.Kind.BAN, Ban.Kind.SUSPENSION)  # who is shadow banned is not to notice
    bans = Ban.objects.active(arrived).filter(player_id__in=players.values(), kind__in=kinds)
    banned = set(bans.values_list("player_id", flat=True))
    return [
        PlayerBanned(f"{one.player_id} may not submit.")
        if isinstance(one, _Candidate) and players[one.player_id] in banned
        else one
        for one in found
    ]


def _bounded(found: Sequence[_Judged]) -> list[_Judged]:
    """Without those whose dimensions would take more values than their mode allows."""
    good = [one for one in found if isinstance(one, _Candidate)]
    refused = dimension_values.refused(
        (value for one in good for value in one.values), {one.mode.pk: one.mode.dimension_values for one in good}
    )
    return [
        InvalidRequest("dimensions: the mode takes no more values of this dimension.")
        if isinstance(one, _Candidate) and not refused.isdisjoint(one.values)
        else one
        for one in found
    ]


def _judged(item: Item, caller: Caller, arrived: datetime) -> _Judged:
    try:
        return _candidate(item, caller, arrived)
    except DomainError as error:
        return error


def _candidate(item: Item, caller: Caller, arrived: datetime) -> _Candidate:
    mode, sent = item.mode, item.submission
    if not mode.active:
        raise ModeInactive(f"{mode.slug} takes no scores any more.")
    rules = mode.rules
    timed = sent.achieved_at is not UNSET and caller.kind is Kind.KEY
    achieved = _utc(sent.achieved_at) if timed and sent.achieved_at is not UNSET else arrived
    dimensions = _dimensions(rules, sent.dimensions)
    return _Candidate(
        mode=mode,
        player_id=_player_id(sent, caller),
        attempt_id=uuid4() if sent.attempt_id is UNSET else sent.attempt_id,
        score=_score(rules, sent, dimensions),
        achieved_at=achieved,
        timed=timed,
        windows=_windows(rules, achieved, arrived),
        dimensions=dimensions,
        metadata=_metadata(sent),
        client=None if sent.client is UNSET else msgspec.json.encode(sent.client).decode(),
    )


def _utc(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:  # the first or the last hours of the calendar, said with an offset
        raise TimeOutOfRange("achieved_at is not a time that windows know.") from None


def _player_id(sent: Submission, caller: Caller) -> str:
    given = None if sent.player_id is UNSET else sent.player_id
    if caller.kind is Kind.PLAYER and caller.player_id is not None:
        if given not in (None, caller.player_id):
            raise InvalidRequest("A player token submits for its own player only.", errors={"player_id": ["not yours"]})
        return caller.player_id
    try:
        return check_player_id(given or "")
    except ValueError as error:
        raise InvalidRequest(f"player_id: {error}", errors={"player_id": [str(error)]}) from None


def _score(rules: ModeRules, sent: Submission, dimensions: Mapping[str, str]) -> int:
    try:
        score = encoding.scale(sent.score, rules.decimals)
    except ValueError as error:
        raise ScoreOutOfBounds(str(error)) from None
    sides = [(rules.min_score, rules.max_score)]
    found = (rules.bounds.get(f"{name}:{value}") for name, value in dimensions.items())
    sides += [(bounds.low, bounds.high) for bounds in found if bounds]
    for low, high in sides:
        if (low is not None and score < low) or (high is not None and score > high):
            raise ScoreOutOfBounds(
                f"The score is outside {encoding.unscale(low or 0, rules.decimals)}"
                f" to {encoding.unscale(high or 0, rules.decimals)}."
            )
    return score


def _windows(rules: ModeRules, achieved: datetime, arrived: datetime) -> int:
    """A bit for each kind of window that it still counts in."""
    if achieved > arrived + FUTURE:
        raise TimeOutOfRange("achieved_at lies in the future.")
    zone, grace = windows.timezone_named(rules.timezone), timedelta(seconds=rules.grace_seconds)
    mask = 0
    for bit, kind in enumerate(windows.KINDS):
        if kind not in rules.windows:
            continue
        try:
            ends = windows.window_at(kind, achieved, zone).ends_at
        except (ValueError, OverflowError):
            raise TimeOutOfRange("achieved_at is not a time that windows know.") from None
        if ends is None or arrived < ends + grace:
            mask |= 1 << bit
    if not mask:
        raise WindowClosed("Every window that the score was achieved in has closed.")
    return mask


def _dimensions(rules: ModeRules, given: Mapping[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name in PLAYERS_OWN:
            raise InvalidRequest(f"dimensions.{name}: is the player's, not the submission's.")
        if name not in rules.dimensions:
            raise InvalidRequest(f"dimensions.{name}: the mode declares no such dimension.")
        if not DIMENSION_VALUE.fullmatch(value):
            raise InvalidRequest(f"dimensions.{name}: 1 to 64 of A–Z, a–z, 0–9, '.', '_' and '-'.")
    return dict(sorted(given.items()))


def _metadata(sent: Submission) -> str | None:
    if sent.metadata is UNSET:
        return None
    if len(sent.metadata) > LARGEST_METADATA:
        raise InvalidRequest("metadata: 2 KiB at most.", errors={"metadata": ["too large"]})
    try:
        # decoded and written anew: a number that PostgreSQL could not hold is refused here
        return json.dumps(msgspec.json.decode(sent.metadata), allow_nan=False, ensure_ascii=False)
    except (msgspec.DecodeError, ValueError, RecursionError, OverflowError):
        raise InvalidRequest("metadata: is not plain JSON.", errors={"metadata": ["not plain JSON"]}) from None


_Results = dict[Key, tuple[Logged, bool]]


def _logged(
    found: Sequence[_Candidate], players: Mapping[str, int], caller: Caller
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


def _attempt(one: _Candidate, player: int, caller: Caller) -> Attempt:
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
        client=one.client,
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
        at = (one.achieved_at - _EPOCH) // timedelta(microseconds=1)
        rows.setdefault(one.mode_id, []).append(ScoreRow(key[0], one.score, at, id_, one.windows, dimensions))
    streams: list[outbox.Stream] = []
    for mode_id in sorted(rows):
        _first_score(modes[mode_id], arrived)
        streams += [stream for stream, _ in outbox.add_scores(mode_id, modes[mode_id].shards, rows[mode_id])]
    return results, streams


def _first_score(mode: Mode, arrived: datetime) -> None:
    """From now on the rules that scores depend on are locked, and the streams have their consumers' rows."""
    if mode.first_score_at is not None:
        return
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
    mode.first_score_at = arrived


def _outcome(one: _Candidate, players: Mapping[str, int], results: _Results) -> Outcome | DomainError:
    logged, known = results[players[one.player_id], one.attempt_id]
    same = (logged.mode_id, logged.score, logged.dimensions) == (one.mode.pk, one.score, one.dimensions)
    if not same or (one.timed and logged.achieved_at != one.achieved_at):
        return AttemptConflict("This attempt was sent before with other content.")
    duplicate = known or one.taken
    return Outcome(one.mode, one.player_id, players[one.player_id], one.attempt_id, logged, duplicate)
