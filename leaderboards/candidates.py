"""What a submission says, as it would be logged, and what the mode's own rules say to it. No stores here."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import UNSET

from config.errors import DomainError, InvalidRequest
from leaderboards.errors import ModeInactive, ScoreOutOfBounds, TimeOutOfRange, WindowClosed
from leaderboards.log import Logged, State
from leaderboards.models import Mode
from leaderboards.rules import encoding, windows
from leaderboards.rules.mode import DIMENSION_VALUE, PLAYERS_OWN, ModeRules
from leaderboards.verdicts import Verdict
from leaderboards.wire_scores import ClientInfo, Submission
from players import tokens
from players.access import Caller, Kind
from players.names import check_player_id

LARGEST_METADATA = 2048
DEEPEST_METADATA = 100
FUTURE = timedelta(seconds=5)


class Candidate(msgspec.Struct, kw_only=True):
    """One submission, read. The score is scaled; `windows` has a bit for each kind that it counts in."""

    mode: Mode
    mode_id: int
    caller: Caller
    player_id: str
    attempt_id: UUID
    score: int
    achieved_at: datetime
    timed: bool  # whether the caller said when; else a repetition has another time by nature
    dimensions: dict[str, str]  # as submitted
    metadata: str | None
    client: ClientInfo | None
    token: str | None
    windows: int = 0
    refusal: DomainError | None = None  # by the mode's own rules
    state: State = State.ACCEPTED
    reasons: list[str] = []  # which the player may know
    verdicts: list[Verdict] = []  # of the checks
    # once it is logged:
    player: int = 0
    taken: bool = False  # by an earlier item of the same batch
    known: bool = False  # by the log, before
    logged: Logged | None = None
    left_out: dict[str, str] = {}  # of the dimensions: values that are new, and may not be brought or find no room

    @property
    def counting(self) -> dict[str, str]:
        if not self.left_out:
            return self.dimensions
        return {name: value for name, value in self.dimensions.items() if name not in self.left_out}

    @property
    def values(self) -> list[tuple[int, str, str]]:
        """(mode, dimension, value) of those that make boards of their own."""
        return [(self.mode_id, name, value) for name, value in self.dimensions.items()]


class Reader:
    """Reads submissions to one mode that came in together: what is the same for all of them is looked up once."""

    def __init__(self, mode: Mode, arrived: datetime) -> None:
        self.mode, self.mode_id, self.arrived = mode, mode.pk, arrived
        self.decimals = mode.decimals
        self.rules = mode.rules
        self.declared = {name: frozenset(values) for name, values in self.rules.values.items()}
        self.all_since, self.all_windows = _current(self.rules, arrived)

    def read(self, sent: Submission, caller: Caller) -> Candidate:
        """What it says, or the DomainError that it is."""
        timed = sent.achieved_at is not UNSET and caller.kind is Kind.KEY
        try:
            score = encoding.scale(sent.score, self.decimals)
        except ValueError as error:
            raise ScoreOutOfBounds(str(error)) from None
        one = Candidate(
            mode=self.mode,
            mode_id=self.mode_id,
            caller=caller,
            player_id=_player_id(sent, caller),
            attempt_id=attempt_id_of(sent),
            score=score,
            achieved_at=_utc(sent.achieved_at) if timed and sent.achieved_at is not UNSET else self.arrived,
            timed=timed,
            dimensions=_dimensions(self.rules, sent.dimensions) if sent.dimensions else {},
            metadata=_metadata(sent),
            client=None if sent.client is UNSET else sent.client,
            token=None if sent.attempt_token is UNSET else sent.attempt_token,
        )
        try:
            one.windows = self._windows(one)
        except DomainError as error:
            one.refusal = error
        return one

    def _windows(self, one: Candidate) -> int:
        """Those it counts in; or why the mode does not take it, now or at all."""
        if not self.mode.active:
            raise ModeInactive(f"{self.mode.slug} takes no scores any more.")
        if self.declared:
            _check_declared(self.declared, one.dimensions)
        _check_bounds(self.rules, one.score, one.dimensions)
        if self.all_since <= one.achieved_at <= self.arrived:
            return self.all_windows
        return _windows(self.rules, one.achieved_at, self.arrived)


def _current(rules: ModeRules, arrived: datetime) -> tuple[datetime, int]:
    """Since when all windows of this moment have been running, and their bits."""
    zone, begun, every = windows.timezone_named(rules.timezone), datetime.min.replace(tzinfo=UTC), 0
    for bit, kind in enumerate(windows.KINDS):
        if kind in rules.windows:
            every |= 1 << bit
            begun = max(begun, windows.window_at(kind, arrived, zone).starts_at or begun)
    return begun, every


def attempt_id_of(sent: Submission) -> UUID:
    if sent.attempt_id is not UNSET:
        return sent.attempt_id
    named = None if sent.attempt_token is UNSET else tokens.attempt_named(sent.attempt_token)
    return named or uuid4()


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


def _check_declared(declared: Mapping[str, Collection[str]], dimensions: Mapping[str, str]) -> None:
    for name, value in dimensions.items():
        if name in declared and value not in declared[name]:
            raise InvalidRequest(f"dimensions.{name}: {value!r} is not one of the values that the mode declares.")


def _check_bounds(rules: ModeRules, score: int, dimensions: Mapping[str, str]) -> None:
    sides = [(rules.min_score, rules.max_score)]
    if rules.bounds:
        found = (rules.bounds.get(f"{name}:{value}") for name, value in dimensions.items())
        sides += [(bounds.low, bounds.high) for bounds in found if bounds]
    for low, high in sides:
        if low is not None and score < low:
            raise ScoreOutOfBounds(f"The score is less than {encoding.unscale(low, rules.decimals)}.")
        if high is not None and score > high:
            raise ScoreOutOfBounds(f"The score is more than {encoding.unscale(high, rules.decimals)}.")


def _utc(achieved: datetime) -> datetime:
    try:
        return achieved.astimezone(UTC)
    except OverflowError:  # its offset leads out of the years 1 to 9999
        raise TimeOutOfRange("achieved_at is not a time that windows know.") from None


def _windows(rules: ModeRules, achieved: datetime, arrived: datetime) -> int:
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
            raise InvalidRequest(f"dimensions.{name[:64]}: the mode declares no such dimension.")
        if not DIMENSION_VALUE.fullmatch(value):
            raise InvalidRequest(f"dimensions.{name}: 1 to 64 of A–Z, a–z, 0–9, '.', '_' and '-'.")
    return dict(sorted(given.items()))


def _metadata(sent: Submission) -> str | None:
    if sent.metadata is UNSET:
        return None
    if len(sent.metadata) > LARGEST_METADATA:
        raise InvalidRequest("metadata: 2 KiB at most.", errors={"metadata": ["too large"]})
    try:
        found = msgspec.json.decode(sent.metadata)
        if _is_deeper(found, DEEPEST_METADATA):
            raise InvalidRequest("metadata: is nested too deeply.", errors={"metadata": ["nested too deeply"]})
        # written anew: a number that PostgreSQL could not hold is refused here
        return json.dumps(found, allow_nan=False, ensure_ascii=False)
    except (msgspec.DecodeError, ValueError, RecursionError, OverflowError):
        raise InvalidRequest("metadata: is not plain JSON.", errors={"metadata": ["not plain JSON"]}) from None


def _is_deeper(value: object, levels: int) -> bool:
    """Whoever reads it has less of the stack left, it may be, than who wrote it."""
    layer = [value]
    for _ in range(levels):
        layer = [part for one in layer for part in _parts(one)]
    return any(isinstance(one, dict | list) for one in layer)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
