"""The attempt token: the game vouches for one attempt of one player in one mode, up to a score, for a while.

Once is kept by the log: a token's id is the attempt's id, and an attempt is in the log once.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from anticheat.errors import TokenCapExceeded, TokenExpired, TokenInvalid
from config.errors import DomainError
from leaderboards.admission import Door, Finding
from leaderboards.candidates import Candidate
from leaderboards.rules.encoding import unscale
from players import tokens
from players.access import Kind
from players.tokens import AttemptClaims, TokenRefused


class AttemptToken:
    """Asked of players in modes that want it; whoever sends one is held to it."""

    name = "token"

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        findings: dict[int, Finding] = {}
        for index, one in enumerate(batch):
            if one.token is None and one.mode.submit != "token":
                continue
            refusal = _refusal(one, door)
            if refusal:
                findings[index] = refusal
        return findings


def _refusal(one: Candidate, door: Door) -> DomainError | None:
    if one.token is None:
        wanted = one.mode.submit == "token" and one.caller.kind is Kind.PLAYER
        return TokenInvalid(f"{one.mode.slug} takes a score with an attempt_token only.") if wanted else None
    try:
        claims = tokens.attempt_claims(one.token, secret=door.game.signing_secret, now=door.now)
    except TokenRefused as error:
        return TokenInvalid(str(error))
    return _strange(one, claims, door) or _beyond(one, claims)


def _strange(one: Candidate, claims: AttemptClaims, door: Door) -> DomainError | None:
    if (claims.game, claims.player_id) != (door.game.slug, one.player_id):
        return TokenInvalid("The attempt token is another player's.")
    if claims.mode != one.mode.slug:
        return TokenInvalid("The attempt token is for another mode.")
    if claims.attempt_id != one.attempt_id:
        return TokenInvalid("The attempt token is for another attempt.")
    return TokenExpired("The attempt token has expired.") if claims.expires_at <= door.now else None


def _beyond(one: Candidate, claims: AttemptClaims) -> DomainError | None:
    score = unscale(one.score, one.mode.decimals)
    if claims.score is not None and score != claims.score:
        return TokenCapExceeded("The attempt token vouches for another score.")
    if claims.cap is not None and _is_better(score, claims.cap, one.mode.order):
        return TokenCapExceeded("The score is better than the attempt token vouches for.")
    return None


def _is_better(score: Decimal | int, cap: Decimal, order: str) -> bool:
    return score > cap if order == "desc" else score < cap
