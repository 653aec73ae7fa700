"""What a socket needs the stores for, in threads: whether it may watch what it asks for, and what is there now."""

from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, NamedTuple

from django.conf import settings
from django.http import parse_cookie
from django.utils import timezone

from config.errors import Forbidden, Unauthenticated
from config.sessions import check_read
from leaderboards.boards.board import Board
from leaderboards.ghosts import seen_by
from leaderboards.known import board_known
from leaderboards.live import announcements, states, watching
from leaderboards.live.messages import Message
from leaderboards.live.watching import Watched
from players import access
from players.access import NOBODY, Caller, Kind
from players.authentication import caller_from_credential, caller_from_header, caller_from_session, credential_expires
from players.errors import PlayerNotFound
from players.profiles import pks_of
from players.scopes import Scope
from players.sessions import session_caller


@dataclass(frozen=True, slots=True)
class Papers:
    """What a socket was opened with."""

    header: str = ""
    session: str | None = None

    @property
    def credential(self) -> str:
        return self.header.partition(" ")[2].strip()


def papers_of(scope: dict[str, Any]) -> Papers:
    headers = {
        name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"authorization", b"cookie")
    }
    session = parse_cookie(headers.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    return Papers(headers.get(b"authorization", ""), session)


class Watch(NamedTuple):
    """What may be watched, as whom, and until when that is known to be so."""

    board: str
    game: str
    player_id: str | None  # who watches, where that is a player
    followed: str | None  # whose rank is told
    until: datetime | None
    by_session: bool

    @property
    def itself(self) -> bool:
        return self.followed is not None and self.followed == self.player_id


def check_header(papers: Papers) -> None:
    caller_from_header(papers.header, now=timezone.now())


def watch_of(papers: Papers, message: Message) -> Watch:
    """Or what is wrong with it, in the API's words."""
    now = timezone.now()
    caller = _caller(papers, message, now)
    followed = _followed(caller, message) if message.op == "follow" else None
    board = _board(caller, message, now)
    credential = message.token or papers.credential
    return Watch(
        Watched(board.mode.pk, message.window, message.scope).name,
        message.game,
        caller.player_id,
        followed,
        credential_expires(credential) if credential else None,
        by_session=not credential and caller is not NOBODY,
    )


def top_now(papers: Papers, message: Message) -> announcements.Top:
    return states.top_of(_seen(papers, message), message.limit)


def rank_now(papers: Papers, message: Message, followed: str) -> announcements.Rank:
    return states.ranks_of(_seen(papers, message), [followed])[followed]


def said_of(message: Message, watch: Watch) -> set[str]:
    """For the registry."""
    if watch.followed is not None:
        return {watching.itself(watch.followed) if watch.itself else watching.followed(watch.followed)}
    said = {watching.top(message.limit)}
    return said if watch.player_id is None else said | {watching.player(watch.player_id)}


def _seen(papers: Papers, message: Message) -> Board:
    now = timezone.now()
    caller = _caller(papers, message, now)
    return seen_by(_board(caller, message, now), caller.player_id, at=now)


def _board(caller: Caller, message: Message, now: datetime) -> Board:
    game = access.may_read(caller, message.game)
    return board_known(game=game, mode=message.mode, window=message.window, at=now, scope=lambda: message.scope)


def _caller(papers: Papers, message: Message, now: datetime) -> Caller:
    if message.token:
        return caller_from_credential(message.token, now=now)
    if papers.header:
        return caller_from_header(papers.header, now=now)
    if not papers.session:
        return NOBODY
    session = import_module(settings.SESSION_ENGINE).SessionStore(papers.session)  # as it is now
    check_read(session)  # a socket that became nobody's would stay nobody's
    caller = session_caller(session, message.game, now=now)
    return caller_from_session(session) if caller is NOBODY else caller


def _followed(caller: Caller, message: Message) -> str:
    if caller.kind is Kind.NOBODY:
        raise Unauthenticated("Following needs a player token.")
    if caller.player_id is not None:
        if message.player_id not in ("", caller.player_id):
            raise Forbidden("A player follows itself only.")
        return caller.player_id
    game = access.may(caller, Scope.READ, message.game)
    if not message.player_id:
        raise Forbidden("With a key, say whom to follow: player_id.")
    if not pks_of(game.pk, [message.player_id]):
        raise PlayerNotFound(f"There is no player {message.player_id!r} in {game.slug}.")
    return message.player_id
