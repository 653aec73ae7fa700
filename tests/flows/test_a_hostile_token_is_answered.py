"""A token that is wrong in one thing is refused like one that is wrong in all."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest

from players.models import Game
from tests.arena import PLAYER
from tests.client import ApiClient, told
from tests.factories import make_game, make_player


def _part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _signed(game: Game, claims: object, header: object = None, *, hashed: Any = hashlib.sha256) -> str:
    """A token signed with the game's real secret, so that nothing but what it says is wrong with it."""
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    signed = f"{_part(head)}.{_part(claims)}"
    return f"{signed}.{_part(hmac.new(game.signing_secret.encode(), signed.encode(), hashed).digest())}"


def _claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": "arena", "sub": "p-1", "typ": "player", "iat": now, "exp": now + 3600, **changes}
    return {name: value for name, value in claims.items() if value is not ...}


def _raw_claims(**texts: str) -> bytes:
    """Claims with JSON that Python would not write."""
    claims = {name: json.dumps(value) for name, value in _claims().items()} | texts
    return ("{" + ",".join(f'"{name}":{text}' for name, text in claims.items()) + "}").encode()


DAY = 24 * 3600
BAD_CLAIMS: dict[str, Any] = {
    "no expiry": lambda: _claims(exp=...),
    "expiry null": lambda: _claims(exp=None),
    "expiry a text": lambda: _claims(exp=str(int(time.time()) + 60)),
    "expiry a boolean": lambda: _claims(exp=True),
    "expiry a list": lambda: _claims(exp=[int(time.time()) + 60]),
    "expiry negative": lambda: _claims(exp=-1),
    "expiry zero": lambda: _claims(exp=0),
    "expired": lambda: _claims(exp=int(time.time()) - 1),
    "expiry 25 hours ahead": lambda: _claims(exp=int(time.time()) + DAY + 3600),
    "expiry 2**63": lambda: _claims(exp=2**63),
    "expiry NaN": lambda: _raw_claims(exp="NaN"),
    "expiry Infinity": lambda: _raw_claims(exp="Infinity"),
    "expiry -Infinity": lambda: _raw_claims(exp="-Infinity"),
    "expiry 1e400": lambda: _raw_claims(exp="1e400"),
    "expiry of 3000 digits": lambda: _raw_claims(exp="9" * 2500),
    "issued in the future": lambda: _claims(iat=int(time.time()) + 3600),
    "not valid yet": lambda: _claims(nbf=int(time.time()) + 3600),
    "valid from NaN": lambda: _raw_claims(nbf="NaN"),
    "issued NaN": lambda: _raw_claims(iat="NaN"),
    "issued a text": lambda: _claims(iat="now"),
    "issued 1e400": lambda: _raw_claims(iat="1e400"),
    "of another game": lambda: _claims(iss="other"),
    "of a game that is not there": lambda: _claims(iss="nowhere"),
    "of no game": lambda: _claims(iss=...),
    "of null": lambda: _claims(iss=None),
    "of a list": lambda: _claims(iss=["arena"]),
    "of an object": lambda: _claims(iss={"arena": 1}),
    "of a number": lambda: _claims(iss=7),
    "of a NUL": lambda: _claims(iss="arena\0"),
    "of half a character": lambda: _raw_claims(iss='"\\ud800"'),
    "of a very long game": lambda: _claims(iss="arena" * 500),
    "of a path": lambda: _claims(iss="../arena"),
    "for nobody": lambda: _claims(sub=...),
    "for null": lambda: _claims(sub=None),
    "for a number": lambda: _claims(sub=17),
    "for a list": lambda: _claims(sub=["p-1"]),
    "for an empty id": lambda: _claims(sub=""),
    "for 65 characters": lambda: _claims(sub="p" * 65),
    "for a NUL": lambda: _claims(sub="p\0"),
    "for a line break": lambda: _claims(sub="p\n1"),
    "for half a character": lambda: _raw_claims(sub='"\\ud800"'),
    "for what nobody sees": lambda: _claims(sub="p\u200b"),
    "of no type": lambda: _claims(typ=...),
    "of another type": lambda: _claims(typ="attempt"),
    "of a list of types": lambda: _claims(typ=["player"]),
    "claims a list": list,
    "claims a text": lambda: "player",
    "claims null": lambda: b"null",
    "claims no JSON": lambda: b"{",
    "claims no UTF-8": lambda: b"\xff\xfe",
    "claims deep": lambda: b"[" * 2500,
    "claims deep and closed": lambda: b'{"a":' * 500 + b"1" + b"}" * 500,
    "claims 5,000 characters": lambda: _claims(padding="x" * 5000),
}


@pytest.mark.parametrize("claims", BAD_CLAIMS.values(), ids=BAD_CLAIMS.keys())
def test_a_token_whose_claims_are_not_good_is_refused_though_its_signature_is(
    api: ApiClient, arena: Game, claims: Any
) -> None:
    make_game("other")
    make_player(arena, "p-1")
    answer = api.get(PLAYER, credential=_signed(arena, claims()))
    assert told(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_tokens_that_are_refused_differ_from_a_good_one_in_that_one_thing(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    for token in (_signed(arena, _claims()), _signed(arena, _raw_claims()), _signed(arena, _claims(iat=...))):
        assert api.get(f"{PLAYER}/export", credential=token).status_code == 200


def _forged(game: Game) -> dict[str, str]:
    good = _signed(game, _claims())
    head, claims, signature = good.split(".")
    return {
        "alg none": f"{_part({'alg': 'none', 'typ': 'JWT'})}.{claims}.",
        "alg None": f"{_part({'alg': 'None'})}.{claims}.{signature}",
        "alg missing": _signed(game, _claims(), {"typ": "JWT"}),
        "alg a list": _signed(game, _claims(), {"alg": ["HS256"]}),
        "alg null": _signed(game, _claims(), {"alg": None}),
        "alg RS256": _signed(game, _claims(), {"alg": "RS256"}),
        "alg HS512": _signed(game, _claims(), {"alg": "HS512"}, hashed=hashlib.sha512),
        "a critical extension": _signed(game, _claims(), {"alg": "HS256", "crit": ["x"], "x": 1}),
        "an unencoded payload": _signed(game, _claims(), {"alg": "HS256", "b64": False, "crit": ["b64"]}),
        "a deep header": _signed(game, _claims(), b"[" * 2500),
        "a header that is a list": _signed(game, _claims(), ["HS256"]),
        "a kid that is a path": f"{_part({'alg': 'HS256', 'kid': '/dev/null'})}.{claims}.{signature}",
        "another signature": f"{head}.{claims}.{_part(b'x' * 32)}",
        "no signature": f"{head}.{claims}.",
        "two parts": f"{head}.{claims}",
        "five parts": f"{good}.a.b",
        "dots": "..",
        "not base64": "a.ä.b",
        "5,000 characters": "a" * 5000,
        "100 kB": "a" * 100_000,
        "a key with more": "rung_00000000_" + "0" * 48 + "\u0660",
        "a key with a NUL": "rung_\0",
        "Latin-1": "\xff\xfe",
        "two": f"{good} {good}",
        "two, with a comma": f"{good},{good}",
    }


def test_a_forged_token_is_refused_whatever_its_header_says(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    for name, token in _forged(arena).items():
        answer = api.get(PLAYER, headers={"Authorization": f"Bearer {token}".encode("latin-1", "replace")})
        assert told(answer) == (401, "unauthenticated"), name


def test_another_games_secret_signs_nothing_here(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    other = make_game("other")
    assert told(api.get(PLAYER, credential=_signed(other, _claims()))) == (401, "unauthenticated")
