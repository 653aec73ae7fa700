"""Attempt tokens that somebody has tampered with: refused with their codes, through both doors, leaving nothing."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import override_settings

from leaderboards.models import Mode
from players.models import Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_mode, make_token

pytestmark = pytest.mark.django_db(transaction=True)
SCORES = "/v1/games/arena/modes/solo/scores"


class Forger:
    """Knows the game's secret where a case needs it, so that nothing else is wrong with the token."""

    def __init__(self, mode: Mode) -> None:
        self.mode, self.secret = mode, mode.game.signing_secret
        self.attempt = str(uuid4())
        self.now = int(time.time())

    def claims(self, **changes: Any) -> dict[str, Any]:
        claims = {"iss": "arena", "sub": "p-1", "typ": "attempt", "jti": self.attempt, "mode": "solo", "cap": 500}
        return claims | {"iat": self.now, "exp": self.now + 600} | changes

    def signed(self, header: Any = None, *, secret: str = "", hashed: Any = hashlib.sha256, **changes: Any) -> str:
        body = f"{_part(header or {'alg': 'HS256', 'typ': 'JWT'})}.{_part(self.claims(**changes))}"
        return f"{body}.{_part(hmac.new((secret or self.secret).encode(), body.encode(), hashed).digest())}"

    def good(self) -> str:
        return self.signed()


def _part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _tampered(forger: Forger, **changes: Any) -> str:
    """Other claims under a signature that was good for what they were."""
    head, _, signature = forger.good().split(".")
    return f"{head}.{_part(forger.claims(**changes))}.{signature}"


INVALID, TOO_MUCH = (422, "token_invalid"), (422, "token_cap_exceeded")
FORGED: dict[str, tuple[Callable[[Forger], str], tuple[int, str]]] = {
    "alg none": (lambda f: f"{_part({'alg': 'none'})}.{_part(f.claims())}.", INVALID),
    "alg none, signed": (lambda f: f.signed({"alg": "none"}), INVALID),
    "alg NONE": (lambda f: f"{_part({'alg': 'NONE'})}.{_part(f.claims())}.", INVALID),
    "alg HS512": (lambda f: f.signed({"alg": "HS512"}, hashed=hashlib.sha512), INVALID),
    "alg RS256": (lambda f: f.signed({"alg": "RS256"}), INVALID),
    "a critical extension": (lambda f: f.signed({"alg": "HS256", "crit": ["x"], "x": 1}), INVALID),
    "wrong key": (lambda f: f.signed(secret="x" * 40), INVALID),
    "another game's key": (lambda f: f.signed(secret=make_game("other").signing_secret), INVALID),
    "another game's token": (lambda f: f.signed(secret=make_game("other").signing_secret, iss="other"), INVALID),
    "wrong game": (lambda f: f.signed(iss="other"), INVALID),
    "wrong player": (lambda f: f.signed(sub="p-2"), INVALID),
    "wrong mode": (lambda f: f.signed(mode="duel"), INVALID),
    "wrong attempt": (lambda f: f.signed(jti=str(uuid4())), INVALID),
    "a player token": (lambda f: make_token(f.mode.game, "p-1"), INVALID),
    "cap raised": (lambda f: _tampered(f, cap=100_000), INVALID),
    "player changed": (lambda f: _tampered(f, sub="p-2"), INVALID),
    "expiry moved": (lambda f: _tampered(f, exp=f.now + 6000), INVALID),
    "no signature": (lambda f: f.good().rpartition(".")[0] + ".", INVALID),
    "half a signature": (lambda f: f.good()[:-20], INVALID),
    "expired": (lambda f: f.signed(exp=f.now - 1), (422, "token_expired")),
    "expires in a week": (lambda f: f.signed(exp=f.now + 7 * 86_400), INVALID),
    "from the future": (lambda f: f.signed(iat=f.now + 3600), INVALID),
    "not valid yet": (lambda f: f.signed(nbf=f.now + 3600), INVALID),
    "not valid at any time": (lambda f: f.signed(nbf="soon"), INVALID),
    "beyond the cap": (lambda f: f.signed(cap=399), TOO_MUCH),
    "another score": (lambda f: f.signed(score=401), TOO_MUCH),
    "huge": (lambda f: f.signed(padding="x" * 100_000), (400, "invalid_request")),
    "as long as it may be": (lambda f: f.signed(padding="x" * 2500)[:4095] + "x", INVALID),
    "deep": (lambda _: f"{_part(b'[' * 1400)}.{_part(b'[' * 1400)}.x", INVALID),
}


@pytest.fixture
def solo() -> Mode:
    game = make_game("arena")
    make_mode(game, "duel", submit="token")
    return make_mode(game, min_score=0, max_score=1000, submit="token")


@pytest.fixture(params=[True, False], ids=["fast lane", "Django"])
def door(request: pytest.FixtureRequest, db: None) -> ApiClient:
    with override_settings(FAST_LANE=request.param):
        return ApiClient()


def _send(door: ApiClient, forger: Forger, token: str, **body: Any) -> Any:
    sent = {"score": 400, "attempt_id": forger.attempt, "attempt_token": token, **body}
    return door("POST", SCORES, credential=make_token(forger.mode.game, "p-1"), json=sent)


@pytest.mark.parametrize(("made", "answer"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_is_refused_with_its_code_and_leaves_nothing(
    door: ApiClient, solo: Mode, made: Callable[[Forger], str], answer: tuple[int, str]
) -> None:
    forger = Forger(solo)
    assert told(_send(door, forger, made(forger))) == answer
    assert not Player.objects.exists()
    assert _logged(solo) == []
    assert _send(door, forger, forger.good()).status_code == 202, "nothing else was wrong, and no id was used up"


def test_a_token_that_was_used_is_good_for_nothing_else(door: ApiClient, solo: Mode) -> None:
    forger = Forger(solo)
    assert _send(door, forger, forger.good()).status_code == 202
    again = _send(door, forger, forger.good())
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert told(_send(door, forger, forger.good(), score=399)) == (409, "attempt_conflict")
    assert told(_send(door, forger, forger.good(), attempt_id=str(uuid4()))) == INVALID
    other = door(
        "POST", SCORES.replace("solo", "duel"), credential=make_token(solo.game, "p-1"),
        json={"score": 400, "attempt_token": forger.good()},
    )  # fmt: skip
    assert told(other) == INVALID
    thief = door(
        "POST", SCORES, credential=make_token(solo.game, "p-2"), json={"score": 400, "attempt_token": forger.good()}
    )
    assert told(thief) == INVALID
    assert _logged(solo) == [UUID(forger.attempt)]


def _logged(mode: Mode) -> list[UUID]:
    modes = list(mode.game.modes.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("SELECT attempt_id FROM score_attempts WHERE mode_id = ANY(%s)", [modes])
        return [row[0] for row in cursor.fetchall()]
