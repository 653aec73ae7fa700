"""Attempt tokens: a player's score counts where the game vouched for it, once, up to the cap, in time."""

import time
from typing import Any
from uuid import uuid4

import jwt
import pytest
import time_machine

from leaderboards.models import Mode
from players.models import Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000, submit="token", decimals=1)


def claims_of(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": "arena", "sub": "p-1", "typ": "attempt", "jti": str(uuid4()), "mode": "solo"}
    claims |= {"cap": 500, "iat": now, "exp": now + 60, **changes}
    return {name: value for name, value in claims.items() if value is not ...}


def _signed(mode: Mode, claims: dict[str, Any], secret: str = "") -> str:
    return jwt.encode(claims, secret or mode.game.signing_secret, algorithm="HS256")


def _send(api: ApiClient, mode: Mode, token: str | None, **fields: Any) -> Any:
    body = {"score": 400, **fields} | ({"attempt_token": token} if token else {})
    return api("POST", f"{SOLO}/scores", credential=make_token(mode.game, "p-1"), json=body)


def test_with_a_token_it_counts_once(api: ApiClient, solo: Mode) -> None:
    claims = claims_of()
    answer = _send(api, solo, _signed(solo, claims))
    assert (answer.status_code, answer.json()["attempt_id"]) == (202, claims["jti"]), "the token names the attempt"
    again = _send(api, solo, _signed(solo, claims))
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    other = _send(api, solo, _signed(solo, claims), score=399)
    assert told(other) == (409, "attempt_conflict")
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime").json()["total"] == 1


@pytest.mark.parametrize(
    ("claims", "sent", "code"),
    [
        ({"sub": "p-2"}, {}, "token_invalid"),
        ({"iss": "other"}, {}, "token_invalid"),
        ({"typ": "player"}, {}, "token_invalid"),
        ({"mode": "duel"}, {}, "token_invalid"),
        ({"mode": ...}, {}, "token_invalid"),
        ({"jti": "no uuid"}, {}, "token_invalid"),
        ({"jti": ...}, {}, "token_invalid"),
        ({}, {"attempt_id": str(uuid4())}, "token_invalid"),
        ({"exp": ...}, {}, "token_invalid"),
        ({"exp": int(time.time()) + 170_000}, {}, "token_invalid"),
        ({"iat": int(time.time()) + 80_000}, {}, "token_invalid"),
        ({"cap": ...}, {}, "token_invalid"),
        ({"cap": "NaN"}, {}, "token_invalid"),
        ({"cap": "x"}, {}, "token_invalid"),
        ({"cap": True}, {}, "token_invalid"),
        ({"cap": [1]}, {}, "token_invalid"),
        ({"cap": "9" * 100}, {}, "token_invalid"),
        ({"exp": int(time.time()) - 1}, {}, "token_expired"),
        ({"cap": "399.9"}, {}, "token_cap_exceeded"),
        ({"cap": 399}, {"score": "399.1"}, "token_cap_exceeded"),
        ({"score": 401}, {}, "token_cap_exceeded"),
        ({"score": 399, "cap": ...}, {}, "token_cap_exceeded"),
    ],
)
def test_a_token_that_does_not_fit_is_refused_and_leaves_nothing(
    api: ApiClient, solo: Mode, claims: dict[str, Any], sent: dict[str, Any], code: str
) -> None:
    assert told(_send(api, solo, _signed(solo, claims_of(**claims)), **sent)) == (422, code)
    assert not Player.objects.exists()


@pytest.mark.parametrize("claims", [{"cap": 400}, {"cap": "400.0"}, {"cap": 400.0}, {"score": 400, "cap": ...}])
def test_a_token_that_just_fits_is_taken(api: ApiClient, solo: Mode, claims: dict[str, Any]) -> None:
    assert _send(api, solo, _signed(solo, claims_of(**claims))).status_code == 202


def test_where_lower_is_better_the_cap_is_the_lowest(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(order="asc")
    assert _send(api, solo, _signed(solo, claims_of(cap=400))).status_code == 202
    assert told(_send(api, solo, _signed(solo, claims_of(cap="400.1")))) == (422, "token_cap_exceeded")


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c", "e30.e30.e30"])
def test_without_a_good_token_nothing_is_taken(api: ApiClient, solo: Mode, token: str | None) -> None:
    assert told(_send(api, solo, token)) == (422, "token_invalid")


def test_another_games_signature_is_none(api: ApiClient, solo: Mode) -> None:
    assert told(_send(api, solo, _signed(solo, claims_of(), secret="x" * 40))) == (422, "token_invalid")
    unsigned = jwt.encode(claims_of(), "", algorithm="none")
    assert told(_send(api, solo, unsigned)) == (422, "token_invalid")


def test_sent_again_after_its_time_it_is_still_the_duplicate(api: ApiClient, solo: Mode) -> None:
    claims = claims_of()
    assert _send(api, solo, _signed(solo, claims)).status_code == 202
    with time_machine.travel(claims["exp"] + 1):
        again = _send(api, solo, _signed(solo, claims))
        assert (again.status_code, again.json()["duplicate"]) == (200, True)
        other = _send(api, solo, _signed(solo, claims), score=1)
        assert told(other) == (422, "token_expired"), "other content is not it"


def test_a_game_server_has_a_token_made(api: ApiClient, solo: Mode) -> None:
    key = make_key(solo.game)
    made = api("POST", f"{SOLO}/attempts", credential=key, json={"player_id": "p-1", "cap": "500.5"})
    assert made.status_code == 201
    answer = _send(api, solo, made.json()["attempt_token"], score="500.5")
    assert (answer.status_code, answer.json()["attempt_id"]) == (202, made.json()["attempt_id"])
    exact = api("POST", f"{SOLO}/attempts", credential=key, json={"player_id": "p-1", "score": 7, "ttl": 600}).json()
    assert told(_send(api, solo, exact["attempt_token"])) == (422, "token_cap_exceeded")
    assert _send(api, solo, exact["attempt_token"], score=7).status_code == 202


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"player_id": "p-1"}, 400, "invalid_request"),
        ({"player_id": "", "cap": 1}, 400, "invalid_request"),
        ({"player_id": "p-1", "cap": 1, "ttl": 0}, 400, "invalid_request"),
        ({"player_id": "p-1", "cap": 1, "ttl": 90_000}, 400, "invalid_request"),
        ({"player_id": "p-1", "cap": "0.05"}, 422, "score_out_of_bounds"),
        ({"player_id": "p-1", "cap": 1e300}, 422, "score_out_of_bounds"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(
    api: ApiClient, solo: Mode, asked: dict[str, Any], status: int, code: str
) -> None:
    assert told(api("POST", f"{SOLO}/attempts", credential=make_key(solo.game), json=asked)) == (status, code)


def test_players_do_not_vouch_for_themselves(api: ApiClient, solo: Mode) -> None:
    token = make_token(solo.game, "p-1")
    answer = api("POST", f"{SOLO}/attempts", credential=token, json={"player_id": "p-1", "cap": 1})
    assert told(answer) == (403, "forbidden")


def test_a_key_needs_no_token_and_is_held_to_the_one_it_sends(api: ApiClient, solo: Mode) -> None:
    key = make_key(solo.game)
    scores = [
        {"mode": "solo", "player_id": "p-1", "score": 400},
        {"mode": "solo", "player_id": "p-1", "score": 501, "attempt_token": _signed(solo, claims_of())},
        {"mode": "solo", "player_id": "p-1", "score": 500, "attempt_token": _signed(solo, claims_of())},
    ]
    answer = api("POST", "/v1/games/arena/scores", credential=key, json={"scores": scores}).json()
    assert (answer["accepted"], [(one["index"], one["code"]) for one in answer["errors"]]) == (
        2,
        [(1, "token_cap_exceeded")],
    )
