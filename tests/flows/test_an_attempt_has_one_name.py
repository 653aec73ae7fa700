"""An attempt's id is read alike wherever it stands: a UUID with its four hyphens or with none, in either case."""

from typing import Any

import jwt
import pytest
from django.test import override_settings

from leaderboards.models import Mode
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_token
from tests.flows.test_a_game_vouches_for_an_attempt import claims_of

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
NAME = "12345678-1234-4234-8234-123456789012"
DIGITS = NAME.replace("-", "")
SPELLINGS = [NAME, NAME.upper(), DIGITS]
OTHERS = [  # Python's own UUID reads each of them as the same
    f"{{{NAME}}}",
    f"urn:uuid:{NAME}",
    f"{DIGITS[:8]}-{DIGITS[8:]}",
    f"-{NAME}-",
    "-".join(DIGITS),
    "".join(chr(0x660 + int(digit)) for digit in DIGITS),
    "1" + "_1" * 15 + "1",
    f"+{DIGITS[1:]}",
]


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1000, submit="open")


@pytest.fixture(params=[True, False], ids=["fast lane", "Django"])
def door(request: pytest.FixtureRequest, db: None) -> ApiClient:
    with override_settings(FAST_LANE=request.param):
        return ApiClient()


def _signed(mode: Mode, jti: object) -> str:
    return jwt.encode(claims_of(jti=jti), mode.game.signing_secret, algorithm="HS256")


def _send(door: ApiClient, mode: Mode, **fields: Any) -> Any:
    return door("POST", f"{SOLO}/scores", credential=make_token(mode.game, "p-1"), json={"score": 400, **fields})


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_good_spelling_is_the_same_attempt_at_every_door(door: ApiClient, solo: Mode, name: str) -> None:
    first = _send(door, solo, attempt_id=NAME)
    assert (first.status_code, first.json()["attempt_id"]) == (202, NAME)
    assert _send(door, solo, attempt_id=name).json()["duplicate"] is True
    key = make_key(solo.game)
    headers = {"Idempotency-Key": name}
    body = {"score": 400, "player_id": "p-1"}
    assert door("POST", f"{SOLO}/scores", credential=key, json=body, headers=headers).json()["duplicate"] is True
    attempt = f"/v1/games/arena/players/p-1/attempts/{name}"
    assert door.get(attempt, credential=key).json()["attempt_id"] == NAME
    assert door.get(f"{attempt}/replay", credential=key).status_code == 200


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_token_may_spell_its_attempt_in_each(door: ApiClient, solo: Mode, name: str) -> None:
    Mode.objects.update(submit="token")
    assert _send(door, solo, attempt_token=_signed(solo, name)).json()["attempt_id"] == NAME
    assert _send(door, solo, attempt_id=NAME, attempt_token=_signed(solo, name)).json()["duplicate"] is True


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_spelling_names_no_attempt_at_any_door(door: ApiClient, solo: Mode, name: str) -> None:
    key = make_key(solo.game)
    known = NAME if "_" not in name else "1" * 8 + "-1111-1111-1111-" + "1" * 12
    assert _send(door, solo, attempt_id=known).status_code == 202
    assert told(_send(door, solo, attempt_id=name)) == (400, "invalid_request")
    attempt = f"/v1/games/arena/players/p-1/attempts/{name}"
    assert told(door.get(attempt, credential=key)) == (404, "attempt_not_found")
    assert told(door.get(f"{attempt}/replay", credential=key)) == (404, "attempt_not_found")
    sent = door("PUT", f"{attempt}/replay", credential=key, content=b"x", headers={"Content-Type": "application/x"})
    assert told(sent) == (404, "attempt_not_found")


@pytest.mark.parametrize("name", [*OTHERS, int(DIGITS), [NAME], {"id": NAME}, None])
def test_a_token_that_spells_its_attempt_otherwise_is_invalid(door: ApiClient, solo: Mode, name: object) -> None:
    Mode.objects.update(submit="token")
    assert told(_send(door, solo, attempt_token=_signed(solo, name))) == (422, "token_invalid")
    known = {"attempt_id": NAME}
    assert told(_send(door, solo, **known, attempt_token=_signed(solo, name))) == (422, "token_invalid")
