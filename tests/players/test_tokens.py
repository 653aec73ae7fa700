"""Player tokens: signed by the game, for one player, for a day at most; everything else is refused in words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
import time_machine
from django.test import TestCase
from django.utils import timezone

from players import tokens
from players.models import Game
from players.services import player_revoke_tokens
from tests.client import ApiClient
from tests.factories import make_game, make_player, make_token

NOW = datetime(2026, 4, 5, 12, tzinfo=UTC)
SECRET = "s" * 64
HOUR = 3600


def _token(secret: str = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    seconds = int(NOW.timestamp())
    whole = {"iss": "arena", "sub": "p-17", "typ": "player", "iat": seconds, "exp": seconds + HOUR} | claims
    return jwt.encode({name: value for name, value in whole.items() if value is not ...}, secret, algorithm=algorithm)


def _at(**ahead: float) -> int:
    return int((NOW + timedelta(**ahead)).timestamp())


def test_a_token_as_the_contract_describes_it_names_its_player() -> None:
    claims = tokens.player_claims(_token(), secret=SECRET, now=NOW)
    assert (claims.game, claims.player_id, claims.earliest_issue) == ("arena", "p-17", NOW)


def test_a_token_that_we_make_is_one_that_we_take() -> None:
    made = tokens.player_token(game="arena", player_id="p-17", secret=SECRET, now=NOW, ttl=tokens.MOST_SECONDS)
    assert tokens.player_claims(made, secret=SECRET, now=NOW).player_id == "p-17"


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (_token(secret="x" * 64), "not signed with the game's secret"),
        (_token(algorithm="HS512"), "not signed with the game's secret"),
        (_token(secret="", algorithm="none"), "not signed with the game's secret"),
        (_token() + "x", "not signed with the game's secret"),
        ("not.a.token", "cannot be read"),
        ("é.b.c", "cannot be read"),
        ("x" * 5000, "too long"),
        (_token(typ="attempt"), "not a player token"),
        (_token(typ=...), "not a player token"),
        (_token(exp=...), "has no expiry"),
        (_token(exp=_at(seconds=0)), "has expired"),
        (_token(exp=_at(days=-30)), "has expired"),
        (_token(exp=_at(hours=25)), "within 24 hours"),
        (_token(exp=_at(days=30), iat=_at(days=29, hours=23)), "within 24 hours"),
        (_token(iat=_at(hours=1)), "from the future"),
        (_token(nbf=_at(hours=1)), "not valid yet"),
        (_token(exp="soon"), "exp is not a number"),
        (_token(exp=True), "exp is not a number"),
        (_token(exp=1e300), "exp is out of range"),
        (_token(exp=float("inf")), "cannot be read|out of range"),
        (_token(sub=...), "names no valid player"),
        (_token(sub=""), "names no valid player"),
        (_token(sub=17), "names no valid player"),
        (_token(sub=["p"]), "names no valid player"),
        (_token(sub="a/b"), "names no valid player"),
        (_token(sub="p" * 65), "names no valid player"),
    ],
)
def test_any_other_is_refused(token: str, why: str) -> None:
    with pytest.raises(tokens.TokenRefused, match=why):
        tokens.player_claims(token, secret=SECRET, now=NOW)


def test_a_token_without_a_time_of_issue_counts_as_made_as_early_as_it_can_have_been() -> None:
    claims = tokens.player_claims(_token(iat=..., exp=_at(hours=2)), secret=SECRET, now=NOW)
    assert claims.earliest_issue == NOW - timedelta(hours=22) - tokens.CLOCK_SKEW


def test_a_game_servers_clock_may_be_a_little_ahead() -> None:
    assert tokens.player_claims(_token(iat=_at(seconds=30), exp=_at(hours=24, seconds=30)), secret=SECRET, now=NOW)


# --- through the door --------------------------------------------------------------------------------------------


def _reads_as(api: ApiClient, token: str) -> int:
    return api.get("/v1/games/arena", credential=token).status_code


@pytest.fixture
def arena(db: None) -> Game:
    return make_game("arena", public=False)


def test_a_token_opens_its_own_game_only(api: ApiClient, arena: Game) -> None:
    other = make_game("other")
    assert _reads_as(api, make_token(arena, "p-17")) == 200
    assert _reads_as(api, make_token(other, "p-17")) == 404, "another tenant's game does not exist"
    claims = {"iss": "arena", "sub": "p-17", "typ": "player", "exp": int(timezone.now().timestamp()) + HOUR}
    assert _reads_as(api, jwt.encode(claims, other.signing_secret, algorithm="HS256")) == 401
    assert _reads_as(api, jwt.encode(claims | {"iss": "nowhere"}, arena.signing_secret, algorithm="HS256")) == 401
    assert _reads_as(api, jwt.encode(claims, arena.signing_secret, algorithm="HS256")) == 200


def test_an_attempt_token_lets_nobody_in(api: ApiClient, arena: Game) -> None:
    common: dict[str, Any] = {"game": "arena", "player_id": "p-17", "secret": arena.signing_secret}
    token = tokens.attempt_token(**common, now=timezone.now(), ttl=60, mode="solo", cap="10")
    assert _reads_as(api, token) == 401


def test_revoking_refuses_what_was_made_before_and_nothing_after(api: ApiClient, arena: Game) -> None:
    player = make_player(arena, "p-17")
    old, others = make_token(arena, "p-17"), make_token(arena, "p-18")
    claims = {"iss": "arena", "sub": "p-17", "typ": "player", "exp": int(timezone.now().timestamp()) + HOUR}
    undated = jwt.encode(claims, arena.signing_secret, algorithm="HS256")
    assert [_reads_as(api, token) for token in (old, undated, others)] == [200, 200, 200]
    with time_machine.travel(timezone.now() + timedelta(seconds=5), tick=False) as clock:
        _committed(lambda: player_revoke_tokens(player=player, at=timezone.now()))
        assert [_reads_as(api, token) for token in (old, undated, others)] == [401, 401, 200]
        clock.shift(1)
        assert _reads_as(api, make_token(arena, "p-17")) == 200


def _committed(act: Callable[[], None]) -> None:
    with TestCase.captureOnCommitCallbacks(execute=True):
        act()
