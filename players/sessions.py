"""Players in a browser: a token, handed out by the game in a link, becomes a session for that game.

A session may know the player of several games. What ends a token ends what was entered with it: revoking, erasure,
another signing secret. Works on any session, of a request or of a socket.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.sessions.backends.base import SessionBase
from django.utils.crypto import constant_time_compare, salted_hmac

from config.errors import Unauthenticated
from config.sessions import check_read
from players import lookups
from players.access import NOBODY, Caller, Kind
from players.authentication import is_revoked, player_proven
from players.lookups import GameRecord

LASTS = timedelta(hours=12)
MOST_GAMES = 10  # that one session knows a player of
_KEY = "rung_players"


class _SignedIn(NamedTuple):
    """As the session keeps it, in plain JSON."""

    player_id: str
    made: float  # the token; in seconds since 1970, as the next
    until: float
    secret: str  # which of the game's secrets had signed the token


def session_enter(session: SessionBase, token: str, *, game: str, now: datetime) -> str:
    """Signs in the player that the token proves; its player_id. A token of another game proves nothing here."""
    claims = player_proven(token, now=now)
    record = lookups.game(game)
    if record is None or claims.game != record.slug:
        raise Unauthenticated("This is a token of another game.")
    known = _known(session)
    known.pop(game, None)
    made, until = claims.earliest_issue.timestamp(), (now + LASTS).timestamp()
    known[game] = list(_SignedIn(claims.player_id, made, until, _fingerprint(record)))
    session.cycle_key()  # whoever knew the session before does not know it now
    session[_KEY] = dict(list(known.items())[-MOST_GAMES:])
    return claims.player_id


def session_leave(session: SessionBase, *, game: str) -> None:
    check_read(session)  # or it would still be signed in, and be told otherwise
    known = _known(session)
    if known.pop(game, None) is not None:
        session.cycle_key()
        session[_KEY] = known


def session_player(session: SessionBase, game: str, *, now: datetime | None = None) -> str | None:
    """The player_id of who is signed in to that game, still."""
    signed_in, record = _signed_in(session, game), lookups.game(game)
    if signed_in is None or record is None:
        return None
    at = now or datetime.now(UTC)
    if signed_in.until <= at.timestamp() or not constant_time_compare(signed_in.secret, _fingerprint(record)):
        return None
    made = datetime.fromtimestamp(signed_in.made, UTC)
    return None if is_revoked(record, signed_in.player_id, made=made) else signed_in.player_id


def session_caller(session: SessionBase, game: str, *, now: datetime | None = None) -> Caller:
    """The same as a caller: the API's rules hold for pages and sockets too."""
    player_id = session_player(session, game, now=now)
    return NOBODY if player_id is None else Caller(Kind.PLAYER, game=game, player_id=player_id)


def _signed_in(session: SessionBase, game: str) -> _SignedIn | None:
    found = _known(session).get(game)
    return None if found is None else _SignedIn(*found)


def _known(session: SessionBase) -> dict[str, list[Any]]:
    """In the order of signing in."""
    return dict(session.get(_KEY) or {})


def _fingerprint(game: GameRecord) -> str:
    return salted_hmac("players.sessions", game.signing_secret, algorithm="sha256").hexdigest()[:16]
