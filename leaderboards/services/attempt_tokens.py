"""Vouching for an attempt, for game servers that would rather not sign themselves. Nothing is stored."""

from datetime import datetime, timedelta
from uuid import uuid4

from msgspec import UNSET

from config.errors import InvalidRequest
from leaderboards.errors import ScoreOutOfBounds
from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.wire_scores import AttemptTokenRequest, AttemptTokenState
from players import tokens
from players.lookups import GameRecord
from players.names import check_player_id


def attempt_token_make(
    *, game: GameRecord, mode: Mode, wanted: AttemptTokenRequest, now: datetime
) -> AttemptTokenState:
    if wanted.cap is UNSET and wanted.score is UNSET:
        raise InvalidRequest("Give a cap, the best score that you vouch for, or the score itself.")
    try:
        player_id = check_player_id(wanted.player_id)
    except ValueError as error:
        raise InvalidRequest(f"player_id: {error}", errors={"player_id": [str(error)]}) from None
    attempt_id = uuid4() if wanted.attempt_id is UNSET else wanted.attempt_id
    token = tokens.attempt_token(
        game=game.slug,
        player_id=player_id,
        secret=game.signing_secret,
        now=now,
        ttl=wanted.ttl,
        mode=mode.slug,
        cap=_exact(wanted, "cap", mode),
        score=_exact(wanted, "score", mode),
        attempt_id=attempt_id,
    )
    return AttemptTokenState(
        attempt_id=attempt_id,
        attempt_token=token,
        expires_at=now.replace(microsecond=0) + timedelta(seconds=wanted.ttl),
    )


def _exact(wanted: AttemptTokenRequest, name: str, mode: Mode) -> str | None:
    given = getattr(wanted, name)
    if given is UNSET:
        return None
    try:
        return str(encoding.unscale(encoding.scale(given, mode.decimals), mode.decimals))
    except ValueError as error:
        raise ScoreOutOfBounds(f"{name}: {error}") from None
