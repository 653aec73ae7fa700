"""Player and attempt tokens: JWT, HS256 only, signed with the game's secret. Pure: the time is an argument."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import jwt

from config import wire
from players.names import check_player_id

MOST_SECONDS = 24 * 3600
CLOCK_SKEW = timedelta(seconds=60)  # how far a game server's clock may be ahead of ours
_LONGEST = 4096  # characters; ours have some two hundred
_LONGEST_NUMBER = 64
_ALGORITHM = "HS256"


class TokenRefused(ValueError):
    """Why a token is not good, in a sentence that gives nothing away."""


@dataclass(frozen=True, slots=True)
class PlayerClaims:
    game: str
    player_id: str
    earliest_issue: datetime  # when it was made; where it does not say, the earliest it can have been


def issuer_of(token: str) -> str:
    """The game a token says it is of, before anything about it is proven."""
    return str(_claims(token, verify=None).get("iss", ""))


def expiry_of(token: str) -> datetime | None:
    """As it says itself; of one that is proven."""
    return _instant(_claims(token, verify=None), "exp")


def player_claims(token: str, *, secret: str, now: datetime) -> PlayerClaims:
    claims = _claims(token, verify=secret)
    if claims.get("typ") != "player":
        raise TokenRefused("This is not a player token.")
    expires = _instant(claims, "exp")
    if expires is None or expires <= now:
        raise TokenRefused("The token has expired." if expires else "The token has no expiry.")
    if expires > now + timedelta(seconds=MOST_SECONDS) + CLOCK_SKEW:
        raise TokenRefused("A player token expires within 24 hours.")
    issued = _instant(claims, "iat")
    if issued is not None and issued > now + CLOCK_SKEW:
        raise TokenRefused("The token is from the future.")
    begins = _instant(claims, "nbf")
    if begins is not None and begins > now + CLOCK_SKEW:
        raise TokenRefused("The token is not valid yet.")
    try:
        player_id = check_player_id(claims["sub"])
    except (KeyError, TypeError, ValueError):
        raise TokenRefused("The token names no valid player.") from None
    earliest = issued or expires - timedelta(seconds=MOST_SECONDS) - CLOCK_SKEW
    return PlayerClaims(game=str(claims.get("iss")), player_id=player_id, earliest_issue=earliest)


@dataclass(frozen=True, slots=True)
class AttemptClaims:
    """What a game vouches for. `cap` and `score` are exact; at least one of them is there."""

    game: str
    player_id: str
    mode: str
    attempt_id: uuid.UUID
    cap: Decimal | None
    score: Decimal | None
    expires_at: datetime
    began_at: datetime | None


def attempt_named(token: str) -> uuid.UUID | None:
    """The attempt that a token says it is for, before anything about it is proven."""
    try:
        return wire.uuid(_claims(token, verify=None).get("jti"))
    except TokenRefused:
        return None


def attempt_claims(token: str, *, secret: str, now: datetime) -> AttemptClaims:
    """Proven; whether it has expired is the caller's to ask: sent again, what was in time once stays so."""
    claims = _claims(token, verify=secret)
    if claims.get("typ") != "attempt":
        raise TokenRefused("This is not an attempt token.")
    expires, began, valid = (_instant(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or expires > now + timedelta(seconds=MOST_SECONDS) + CLOCK_SKEW:
        raise TokenRefused("An attempt token expires within 24 hours.")
    if began is not None and began > now + CLOCK_SKEW:
        raise TokenRefused("The token is from the future.")
    if valid is not None and valid > now + CLOCK_SKEW:
        raise TokenRefused("The token is not valid yet.")
    cap, score = _exact(claims, "cap"), _exact(claims, "score")
    if cap is None and score is None:
        raise TokenRefused("The token vouches for no score: it has no cap.")
    attempt_id = wire.uuid(claims.get("jti"))
    if attempt_id is None:
        raise TokenRefused("The token names no attempt: its jti is not a UUID.")
    try:
        player_id = check_player_id(claims["sub"])
    except (KeyError, TypeError, ValueError):
        raise TokenRefused("The token names no valid player.") from None
    return AttemptClaims(
        game=str(claims.get("iss")),
        player_id=player_id,
        mode=str(claims.get("mode")),
        attempt_id=attempt_id,
        cap=cap,
        score=score,
        expires_at=expires,
        began_at=began,
    )


def player_token(*, game: str, player_id: str, secret: str, now: datetime, ttl: int) -> str:
    claims = {"iss": game, "sub": player_id, "typ": "player", "iat": _seconds(now), "exp": _seconds(now) + ttl}
    return jwt.encode(claims, secret, algorithm=_ALGORITHM)


def attempt_token(  # noqa: PLR0913 - one for each claim
    *,
    game: str,
    player_id: str,
    secret: str,
    now: datetime,
    ttl: int,
    mode: str,
    cap: str | None = None,
    score: str | None = None,
    attempt_id: uuid.UUID | None = None,
) -> str:
    """Vouches for one attempt of a player in a mode, up to a score, or for exactly one. Scores as texts: a JSON number
    would be a float on the way.
    """
    claims = {
        "iss": game,
        "sub": player_id,
        "typ": "attempt",
        "jti": str(attempt_id or uuid.uuid4()),
        "mode": mode,
        "iat": _seconds(now),
        "exp": _seconds(now) + ttl,
    }
    claims |= {name: value for name, value in (("cap", cap), ("score", score)) if value is not None}
    return jwt.encode(claims, secret, algorithm=_ALGORITHM)


def _claims(token: str, *, verify: str | None) -> dict[str, Any]:
    if len(token) > _LONGEST:
        raise TokenRefused("The token is too long.")
    # times are checked by us, above: the library reads its own clock and trips over infinities
    options: Any = {
        "verify_signature": verify is not None,
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
    }
    options |= {"verify_sub": False, "verify_jti": False, "verify_iss": False, "verify_aud": False}
    try:
        return dict(jwt.decode(token, verify or "", algorithms=[_ALGORITHM], options=options))
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
        raise TokenRefused("The token cannot be read, or is not signed with the game's secret.") from None


def _exact(claims: dict[str, Any], name: str) -> Decimal | None:
    """A number as the game wrote it, or a text for exact decimals."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > _LONGEST_NUMBER:
        raise TokenRefused(f"The token's {name} is not a score.")
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        raise TokenRefused(f"The token's {name} is not a score.") from None
    if not exact.is_finite():
        raise TokenRefused(f"The token's {name} is not a score.")
    return exact


def _instant(claims: dict[str, Any], name: str) -> datetime | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefused(f"The token's {name} is not a number of seconds.")
    try:
        return datetime.fromtimestamp(value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise TokenRefused(f"The token's {name} is out of range.") from None


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
