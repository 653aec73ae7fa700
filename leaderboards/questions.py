"""What the hot routes are asked, whichever door it comes through: who may ask, of what, and what is refused first."""

from typing import Protocol, TypeVar

import msgspec

from config import clock
from config.errors import Forbidden, Unauthenticated
from leaderboards.board_states import Asked
from leaderboards.boards.board import Board
from leaderboards.ghosts import seen_by
from leaderboards.known import board_known
from leaderboards.wire_scores import BoardQuery, Lookup, ScopeQuery, StandingQuery
from players import access
from players.access import Caller, Kind

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


class Request(Protocol):
    """A call as both doors can show it."""

    @property
    def caller(self) -> Caller: ...

    @property
    def address(self) -> str: ...

    @property
    def media_type(self) -> str: ...

    @property
    def content(self) -> bytes: ...

    def header(self, name: str) -> str | None: ...

    def query(self, to: type[S]) -> S: ...

    def body(self, to: type[T], *, in_parts: bool = False) -> T: ...


def board(request: Request, game: str, mode: str, window: str) -> tuple[Board, BoardQuery, bool]:
    """The last: whether anybody may have the answer."""
    record, at = access.may_read(request.caller, game), clock.now()
    found = board_known(game=record, mode=mode, window=window, at=at, scope=lambda: request.query(BoardQuery).scope)
    found = seen_by(found, request.caller.player_id, at=at)
    return found, request.query(BoardQuery), record.public and request.caller.kind is Kind.NOBODY


def standing(request: Request, game: str, mode: str, window: str, player_id: str) -> Asked:
    record, at = access.may_read(request.caller, game), clock.now()
    asked = request.query(StandingQuery)
    found = board_known(game=record, mode=mode, window=window, at=at, scope=lambda: asked.scope)
    seen = seen_by(found, request.caller.player_id, at=at)
    return Asked(seen, player_id, asked.neighbors, knows_what_waits(request.caller, player_id))


def knows_what_waits(caller: Caller, player_id: str) -> bool:
    """What is in quarantine is the player's own business, and the game's."""
    return caller.kind is Kind.KEY or caller.is_player(player_id)


def own_standing(request: Request, game: str, mode: str, window: str) -> Asked:
    caller = request.caller
    if caller.kind is Kind.NOBODY:
        raise Unauthenticated("This needs a player token.")
    if caller.player_id is None:
        raise Forbidden("This is answered to player tokens; with a key, ask for …/players/{player_id}.")
    return standing(request, game, mode, window, caller.player_id)


def lookup(request: Request, game: str, mode: str, window: str) -> tuple[Board, list[str]]:
    record, at = access.may_read(request.caller, game), clock.now()
    found = board_known(game=record, mode=mode, window=window, at=at, scope=lambda: request.query(ScopeQuery).scope)
    return seen_by(found, request.caller.player_id, at=at), request.body(Lookup).player_ids
