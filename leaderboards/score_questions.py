"""What is submitted, whichever door it comes through: who may, where it belongs, and what is refused first."""

from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import NamedTuple, TypeVar

from msgspec import UNSET, structs

from config import clock, wire
from config.errors import DomainError, Forbidden, InvalidRequest, UnsupportedMediaType
from leaderboards.boards.board import Board
from leaderboards.candidates import attempt_id_of
from leaderboards.errors import ModeNotFound
from leaderboards.ghosts import seen_by
from leaderboards.known import board_known, mode_known
from leaderboards.models import Mode
from leaderboards.questions import Request
from leaderboards.rules.windows import longest
from leaderboards.services.one_score import Asked
from leaderboards.services.scores import Item
from leaderboards.wire_scores import (
    MOST_ITEMS,
    Batch,
    BatchSubmission,
    ClientInfo,
    LargeBatch,
    Submission,
    SubmitQuery,
    WholeBatch,
)
from players import access
from players.access import Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope

T = TypeVar("T")
Items = list[Item | DomainError]
_SMALL = 64 * 1024  # bytes; what is in a shorter body, or in a shorter item, takes few megabytes at worst
_WRONG_NUMBER = f"A batch has 1 to {MOST_ITEMS:,} scores."


class Place(NamedTuple):
    """Where a caller may submit to, and the board that it looks at: the same for all that it asks in the same words."""

    game: GameRecord
    mode: Mode
    board: Board
    window: str
    caller: Caller


def place(request: Request, game: str, mode: str) -> Place:
    record, at = _may_submit(request.caller, game), clock.now()
    found = mode_known(game=record, mode=mode)
    if request.caller.kind is Kind.PLAYER and found.submit == "trusted":
        raise Forbidden(f"{mode} takes scores from the game's servers only.")
    window = request.query(SubmitQuery).window or longest(found.windows).value
    board = board_known(game=record, mode=mode, window=window, at=at, scope=lambda: "global")
    return Place(record, found, board, window, request.caller)


def score(request: Request, there: Place) -> Asked:
    sent = _attempt_named(request.body(Submission), request.header("Idempotency-Key"))
    sent.attempt_id = attempt_id_of(sent)  # from here on: whatever is done again is the same attempt
    if there.caller.kind is Kind.PLAYER and request.address:  # of itself a player may say what it likes
        sent.client = structs.replace(sent.client or ClientInfo(), address=request.address)
    player_id = sent.player_id or there.caller.player_id
    board = seen_by(there.board, player_id, at=clock.now())  # whoever sends it: the answer may reach the player
    return Asked(there.game, Item(there.mode, sent, there.caller), board, there.window)


def scores(request: Request, game: str) -> tuple[GameRecord, Items]:
    caller = request.caller
    request.query(wire.NoQuery)
    record = access.may(caller, Scope.SUBMIT, game)
    modes: dict[str, Mode | DomainError] = {}
    return record, [_item(sent, record, caller, modes) for sent in _sent(request)]


def _sent(request: Request) -> list[BatchSubmission] | list[BatchSubmission | DomainError]:
    """All at once; where that fails one by one, so that a bad one does not take the others with it."""
    if request.media_type == "application/x-ndjson":
        lines = _lines(request.content)
        if not 1 <= len(lines) <= MOST_ITEMS:
            raise InvalidRequest(_WRONG_NUMBER)
        return [_decoded(line) for line in lines]
    if request.media_type != "application/json":
        named = request.media_type or "a body without a Content-Type"
        raise UnsupportedMediaType(f"Send application/json, not {named}.")
    if len(request.content) > _SMALL:
        return _of_large(request.content)
    try:
        return wire.decode(request.content, WholeBatch).scores
    except InvalidRequest:
        return [_decoded(bytes(raw)) for raw in wire.decode(request.content, Batch, in_parts=True).scores]


def _of_large(content: bytes) -> list[BatchSubmission] | list[BatchSubmission | DomainError]:
    """The same, but nothing is decoded before the items are known to be few and small: a decoded item of eight
    megabytes may take hundreds.
    """
    parts = wire.items(wire.decode(content, LargeBatch, in_parts=True).scores)
    if not parts:
        raise InvalidRequest(_WRONG_NUMBER)
    if max(map(len, parts)) <= _SMALL:
        with suppress(InvalidRequest):
            return wire.decode(content, WholeBatch, bounded=True).scores
    return [_decoded(bytes(part)) for part in parts]


def _lines(content: bytes) -> list[bytes]:
    """Those that are not blank, as far as one too many: millions would be a list many times as large as the body."""
    found = (line.removesuffix(b"\n") for line in BytesIO(content) if not line.isspace())
    return list(islice(found, MOST_ITEMS + 1))


def _decoded(raw: bytes) -> BatchSubmission | DomainError:
    try:
        return wire.decode(raw, BatchSubmission)
    except DomainError as error:
        return error


def _item(
    sent: BatchSubmission | DomainError, game: GameRecord, caller: Caller, modes: dict[str, Mode | DomainError]
) -> Item | DomainError:
    if isinstance(sent, DomainError):
        return sent
    mode = modes.get(sent.mode)
    if mode is None:
        try:
            mode = mode_known(game=game, mode=sent.mode)
        except ModeNotFound as error:
            mode = error
        modes[sent.mode] = mode
    return mode if isinstance(mode, DomainError) else Item(mode, sent, caller)


def _may_submit(caller: Caller, game: str) -> GameRecord:
    if caller.kind is Kind.PLAYER:
        return access.may_read(caller, game)
    return access.may(caller, Scope.SUBMIT, game)


def _attempt_named(sent: Submission, header: str | None) -> Submission:
    """With the id from the header `Idempotency-Key`, which must not contradict the body."""
    if header is None:
        return sent
    named = wire.uuid(_unquoted(header))
    if named is None:
        raise InvalidRequest("Idempotency-Key: is not a UUID.", errors={"Idempotency-Key": ["not a UUID"]})
    if sent.attempt_id not in (UNSET, named):
        raise InvalidRequest("Idempotency-Key and attempt_id differ.", errors={"attempt_id": ["not the header's"]})
    sent.attempt_id = named
    return sent


def _unquoted(header: str) -> str:
    text = header.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
