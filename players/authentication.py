"""The ways in: API key, player token, operator's session; the same functions for DRF, Channels and every later door."""

import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from channels.db import database_sync_to_async
from channels.middleware import BaseMiddleware
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from config.errors import Unauthenticated
from players import lookups, tokens
from players.access import NOBODY, Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope

# an operator's scopes follow from permissions; `submit` is none of them: scores come from games
_OPERATOR_SCOPES = {
    Scope.READ: "players.view_game",
    Scope.MANAGE: "players.change_game",
    Scope.MODERATE: "players.add_ban",
}


# a token of a game that is not here is checked like any other, against a secret that nobody has
_NO_GAME = GameRecord(pk=0, slug="", title="", public=False, signing_secret=secrets.token_hex(32))


def caller_from_header(header: str, *, now: datetime) -> Caller:
    """The caller that `Authorization: …` proves; an absent header is nobody, a bad one is refused."""
    if not header:
        return NOBODY
    scheme, _, credential = header.partition(" ")
    credential = credential.strip()
    if scheme.lower() != "bearer" or not credential:
        raise Unauthenticated("Send Authorization: Bearer <API key or player token>.")
    return caller_from_credential(credential, now=now)


def caller_from_credential(credential: str, *, now: datetime) -> Caller:
    if credential.startswith("rung_"):
        return _key_caller(credential)
    return _player_caller(credential, now=now)


def caller_from_user(user: User | AnonymousUser | None) -> Caller:
    """Staff signed in to the admin may use the API with what their permissions allow."""
    if user is None or not user.is_active or not user.is_staff:
        return NOBODY
    scopes = frozenset(scope for scope, permission in _OPERATOR_SCOPES.items() if user.has_perm(permission))
    return Caller(Kind.OPERATOR, scopes=scopes, operator=user.pk)


def _key_caller(credential: str) -> Caller:
    record = lookups.key(credential)
    if record is None:
        raise Unauthenticated("The API key is unknown, revoked or expired.")
    return Caller(Kind.KEY, game=record.game, scopes=record.scopes, key=record.pk)


def _player_caller(token: str, *, now: datetime) -> Caller:
    try:
        game = lookups.game(tokens.issuer_of(token)) or _NO_GAME
        claims = tokens.player_claims(token, secret=game.signing_secret, now=now)
    except tokens.TokenRefused as error:
        raise Unauthenticated(str(error)) from None
    valid_from = lookups.tokens_valid_from(game.pk, claims.player_id)
    if valid_from is not None and claims.earliest_issue < valid_from:
        raise Unauthenticated("The token has been revoked.")
    return Caller(Kind.PLAYER, game=game.slug, player_id=claims.player_id)


class CallerAuthentication(BaseAuthentication):
    """DRF: `request.auth` is the Caller."""

    def authenticate(self, request: Request) -> tuple[Any, Caller] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if header:
            return None, caller_from_header(header, now=timezone.now())
        django_request: HttpRequest = request._request  # noqa: SLF001 - DRF offers no other way to the session
        if settings.SESSION_COOKIE_NAME not in django_request.COOKIES:
            return None, NOBODY  # looking into the session would make the answer vary with cookies
        caller = caller_from_user(getattr(django_request, "user", None))
        if caller is NOBODY:
            return None, NOBODY
        SessionAuthentication().enforce_csrf(request)  # a session is sent by the browser, whoever made the page
        return django_request.user, caller

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="rung"'


class CallerMiddleware(BaseMiddleware):
    """Channels: `scope["caller"]` is the Caller, or the Unauthenticated that the consumer answers with."""

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> Any:
        scope = {**scope, "caller": await self._caller(scope)}
        return await super().__call__(scope, receive, send)

    @database_sync_to_async
    def _caller(self, scope: dict[str, Any]) -> Caller | Unauthenticated:
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        try:
            if header:
                return caller_from_header(header.decode("latin-1"), now=timezone.now())
            request = HttpRequest()
            request.session = scope["session"]
            return caller_from_user(get_user(request))
        except Unauthenticated as error:
            return error
