"""Submitting scores: one core that takes a batch. Judge, log in one commit, ring."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from config import clock
from config.errors import DomainError
from leaderboards import admission, log, outbox, partitions
from leaderboards.admission import Door
from leaderboards.candidates import Candidate, Reader
from leaderboards.commit import scores_commit
from leaderboards.errors import AttemptConflict
from leaderboards.log import Key, Logged
from leaderboards.models import Mode
from leaderboards.wire_scores import Submission
from players.access import NOBODY, Caller
from players.bars import BARRING, players_barred
from players.errors import PlayerBanned
from players.lookups import GameRecord
from players.profiles import pks_of
from players.selectors import Banned, players_banned
from players.services import players_register


class Item(Struct, frozen=True):
    """One submission of a batch, with the mode it names, and whose it is where that is not the whole batch's."""

    mode: Mode
    submission: Submission
    caller: Caller | None = None


class Outcome(Struct, frozen=True):
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
    *, game: GameRecord, items: Sequence[Item | DomainError], caller: Caller = NOBODY, look: _Look | None = None
) -> list[Outcome | DomainError]:
    """Each item's outcome, in order. What is good is durable when this returns; what is not is named.

    `look` is told who the players are, just before their scores are logged.
    """
    try:
        return _submitted_at(clock.now(), game, items, caller, look)
    except clock.ClockWasWrong:  # what they were judged by: once more, by the database's
        return _submitted_at(clock.now(), game, items, caller, look)


def _submitted_at(
    now: datetime, game: GameRecord, items: Sequence[Item | DomainError], caller: Caller, look: _Look | None
) -> list[Outcome | DomainError]:
    door, readers = Door(game, now, caller), dict[int, Reader]()
    read = [item if isinstance(item, DomainError) else _read(item, caller, door, readers) for item in items]
    batch = [one for one in read if isinstance(one, Candidate)]
    outcomes = iter(_submitted(batch, door, look) if batch else ())
    return [next(outcomes) if isinstance(one, Candidate) else one for one in read]


def _read(item: Item, caller: Caller, door: Door, readers: dict[int, Reader]) -> Candidate | DomainError:
    reader = readers.get(id(item.mode))
    if reader is None:
        reader = readers[id(item.mode)] = Reader(item.mode, door.now)
    try:
        return reader.read(item.submission, item.caller or caller)
    except DomainError as error:
        return error


def _submitted(batch: Sequence[Candidate], door: Door, look: _Look | None) -> list[Outcome | DomainError]:
    players = pks_of(door.game.pk, {one.player_id for one in batch})
    refused = _refused(batch, players, door)
    strangers = {one.player_id for n, one in enumerate(batch) if n not in refused} - players.keys()
    if strangers:
        made = players_register(game=door.game, player_ids=strangers, at=door.now)
        players |= made
        # erasing oneself is no way out of a ban, which comes along just now
        refused |= _barred(batch, made, players_banned(made.values(), kinds=BARRING, at=door.now))
    good = [one for n, one in enumerate(batch) if n not in refused]
    if look and good:
        look(players)
    outbox.ring(scores_commit(batch=good, players=players) if good else [])
    known = _repeated([batch[n] for n in refused], players, door.now) if refused else {}
    return [
        _refused_or_known(one, refused[n], players, known) if n in refused else _outcome(one)
        for n, one in enumerate(batch)
    ]


def _refused(batch: Sequence[Candidate], players: Mapping[str, int], door: Door) -> _Refused:
    """By the modes' rules, by bans, by the checks."""
    refused = {n: one.refusal for n, one in enumerate(batch) if one.refusal}
    refused = _barred(batch, players, players_barred(players.values(), at=door.now)) | refused
    return admission.judge(batch, door) | refused


def _barred(batch: Sequence[Candidate], players: Mapping[str, int], barred: Banned) -> _Refused:
    """From the game, or from the mode that they play."""
    if not barred:
        return {}
    return {
        n: PlayerBanned(f"{one.player_id} may not submit.")
        for n, one in enumerate(batch)
        if (pk := players.get(one.player_id)) and not barred.isdisjoint(((pk, None), (pk, one.mode_id)))
    }


def _repeated(refused: Sequence[Candidate], players: Mapping[str, int], at: datetime) -> dict[Key, Logged]:
    """What is in the log of those that would be refused by now: a token expires, a window closes, a ban comes."""
    keys = [(players[one.player_id], one.attempt_id) for one in refused if one.player_id in players]
    return log.find(keys, since=partitions.recent_since(at)) if keys else {}


def _refused_or_known(
    one: Candidate, error: DomainError, players: Mapping[str, int], known: Mapping[Key, Logged]
) -> Outcome | DomainError:
    logged = known.get((players.get(one.player_id, 0), one.attempt_id))
    if logged is None or not _is_same(one, logged):
        return error
    return Outcome(one.mode, one.player_id, players[one.player_id], one.attempt_id, logged, duplicate=True)


def _outcome(one: Candidate) -> Outcome | DomainError:
    assert one.logged is not None  # noqa: S101 - the commit has seen to it
    again = one.known or one.taken
    if again and not _is_same(one, one.logged):
        return AttemptConflict("This attempt was sent before with other content.")
    return Outcome(one.mode, one.player_id, one.player, one.attempt_id, one.logged, again)


def _is_same(one: Candidate, logged: Logged) -> bool:
    same = (logged.mode_id, logged.score, logged.submitted) == (one.mode_id, one.score, one.dimensions)
    return same and not (one.timed and logged.achieved_at != one.achieved_at)
