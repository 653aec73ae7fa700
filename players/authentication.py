"""The ways in: API key, player token, operator's session; the same functions for DRF, Channels and every later door."""

import secrets
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from config.errors import Unauthenticated
from config.request_context import current
from players import lookups, tokens
from players.access import NOBODY, Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope
from players.tokens import PlayerClaims

# an operator's scopes follow from permissions. `submit` is none of them: scores come from games; nor is `moderate`:
# operators rule in the admin
_OPERATOR_SCOPES = {
    Scope.READ: "players.view_game",
    Scope.MANAGE: "players.change_game",
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


def credential_expires(credential: str) -> datetime | None:
    """When what proved somebody will prove nothing any more; None: never."""
    if not credential.startswith("rung_"):
        return tokens.expiry_of(credential)
    record = lookups.key(credential)
    return record.expires_at if record else None


def caller_from_session(session: SessionBase) -> Caller:
    """The operator who is signed in with it."""
    request = HttpRequest()
    request.session = session
    return caller_from_user(get_user(request))


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
    claims = player_proven(token, now=now)
    return Caller(Kind.PLAYER, game=claims.game, player_id=claims.player_id)


def player_proven(token: str, *, now: datetime) -> PlayerClaims:
    """What a player token says: signed by its game, in time and not revoked."""
    try:
        game = lookups.game(tokens.issuer_of(token)) or _NO_GAME
        claims = tokens.player_claims(token, secret=game.signing_secret, now=now)
    except tokens.TokenRefused as error:
        raise Unauthenticated(str(error)) from None
    if is_revoked(game, claims.player_id, made=claims.earliest_issue):
        raise Unauthenticated("The token has been revoked.")
    return claims


def is_revoked(game: GameRecord, player_id: str, *, made: datetime) -> bool:
    """Whether what a player was given then is refused by now: its tokens were revoked since, or it was erased."""
    valid_from = lookups.tokens_valid_from(game.pk, player_id)
    return valid_from is not None and made < valid_from


class CallerAuthentication(BaseAuthentication):
    """DRF: `request.auth` is the Caller."""

    def authenticate(self, request: Request) -> tuple[Any, Caller] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if header:
            known = caller_from_header(header, now=timezone.now())
            current().proven = known.kind is Kind.KEY
            return None, known
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
