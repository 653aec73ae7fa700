"""Who may do what in which game: scopes and tenancy, decided here and nowhere else.

Another tenant's things are as if they did not exist; a private game tells strangers only that it wants credentials.
"""

from dataclasses import dataclass
from enum import Enum

from config.audit import Who
from config.errors import Forbidden, Unauthenticated
from config.request_context import current_id
from players import lookups
from players.errors import GameNotFound
from players.lookups import GameRecord
from players.scopes import Scope


class Kind(Enum):
    NOBODY = "nobody"
    KEY = "key"
    PLAYER = "player"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, proven. A key and a player belong to one game; an operator to none, and may enter all."""

    kind: Kind
    game: str | None = None
    scopes: frozenset[Scope] = frozenset()
    player_id: str | None = None
    key: int | None = None  # pk of the API key
    operator: int | None = None  # pk of the user

    def is_player(self, player_id: str) -> bool:
        return self.kind is Kind.PLAYER and self.player_id == player_id


NOBODY = Caller(Kind.NOBODY)


def who(caller: Caller, *, address: str) -> Who:
    """For the audit, which knows a player by what the act is about, and not where it was: nothing there is erased."""
    where = "" if caller.kind is Kind.PLAYER else address
    return Who(caller.kind.value, user=caller.operator, key=caller.key, address=where, request_id=current_id() or "")


def may_read(caller: Caller, game: str) -> GameRecord:
    """The game, for whoever may read its boards and profiles."""
    found = _visible(caller, game)
    if caller.kind is Kind.NOBODY and not found.public:
        raise Unauthenticated(f"Reading {game} needs an API key or a player token.")
    if caller.kind in {Kind.KEY, Kind.OPERATOR} and not found.public:
        _must_have(caller, Scope.READ)
    return found


def may(caller: Caller, scope: Scope, game: str) -> GameRecord:
    """The game, for a caller with that scope in it."""
    if caller.kind is Kind.NOBODY:
        raise Unauthenticated("This needs an API key: Authorization: Bearer rung_…")
    found = _visible(caller, game)
    _must_have(caller, scope)
    return found


def may_act_for(caller: Caller, player_id: str, game: str, *, scope: Scope = Scope.MANAGE) -> GameRecord:
    """The game, for a caller with the scope, or for the player itself."""
    if caller.kind is Kind.PLAYER:
        found = _visible(caller, game)
        if not caller.is_player(player_id):
            raise Forbidden("A player token acts for its own player only.")
        return found
    return may(caller, scope, game)


def vouched(game: str) -> GameRecord:
    """The game, for who shows something that we signed ourselves."""
    return _visible(NOBODY, game)


def _visible(caller: Caller, game: str) -> GameRecord:
    found = lookups.game(game)
    if found is None or (caller.game is not None and caller.game != game):
        raise GameNotFound(f"There is no game {game!r} here.")
    return found


def _must_have(caller: Caller, scope: Scope) -> None:
    if scope not in caller.scopes:
        raise Forbidden(f"This needs the scope {scope.value!r}.")
