"""Impossible timing: a score reached faster than the mode allows waits; a player in two places at once is flagged."""

import time
from typing import Any
from uuid import uuid4

import jwt
import pytest
import time_machine

from anticheat.models import Finding
from leaderboards.models import Mode
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=10_000, submit="open", decimals=1)


def _tune(**timing: Any) -> None:
    Mode.objects.update(checks={"timing": timing})


def _played(api: ApiClient, mode: Mode, score: Any, *, seconds: float | None, **body: Any) -> str:
    """The fraud_check of a score whose match began so long ago, as the game says."""
    now = int(time.time())
    claims = {"iss": "arena", "sub": "p-1", "typ": "attempt", "jti": str(uuid4()), "mode": "solo", "cap": 10_000}
    claims |= {"exp": now + 600} | ({} if seconds is None else {"iat": now - seconds})
    token = jwt.encode(claims, mode.game.signing_secret, algorithm="HS256")
    sent = {"score": score, "attempt_token": token, **body}
    answer = api("POST", f"{SOLO}/scores", credential=make_token(mode.game, "p-1"), json=sent)
    assert answer.status_code == 202
    return str(answer.json()["fraud_check"])


def test_more_points_a_second_than_the_mode_allows_wait_for_a_look(api: ApiClient, solo: Mode) -> None:
    _tune(per_second=10)
    assert _played(api, solo, 2000, seconds=100) == "quarantined"
    assert _played(api, solo, 900, seconds=100) != "quarantined"
    finding = Finding.objects.get()
    assert (finding.check_name, finding.verdict) == ("timing", "quarantine")
    assert finding.reason.startswith("2000.0 points in 10"), "with the numbers, for who decides"
    assert finding.reason.endswith("more than 10 a second.")


def test_no_attempt_is_shorter_than_the_mode_says(api: ApiClient, solo: Mode) -> None:
    _tune(least_seconds=60)
    assert _played(api, solo, 1, seconds=5) == "quarantined"
    assert _played(api, solo, 1, seconds=-30) == "quarantined", "a clock that is ahead does not help"
    assert _played(api, solo, 1, seconds=600) != "quarantined"


def test_where_nobody_says_when_it_began_nothing_is_said_of_how_long_it_took(api: ApiClient, solo: Mode) -> None:
    _tune(least_seconds=60, per_second=1)
    assert _played(api, solo, 5000, seconds=None) != "quarantined"
    key = make_key(solo.game)
    sent = {"player_id": "p-1", "score": 5000}
    assert api("POST", f"{SOLO}/scores", credential=key, json=sent).json()["fraud_check"] != "quarantined"


def test_what_is_too_fast_is_rejected_or_flagged_where_the_mode_says_so(api: ApiClient, solo: Mode) -> None:
    _tune(least_seconds=60, act="reject")
    assert _played(api, solo, 1, seconds=5) == "rejected"
    _tune(least_seconds=60, act="flag")
    assert _played(api, solo, 1, seconds=5) not in ("rejected", "quarantined")
    _tune(least_seconds=60, on=False)
    assert _played(api, solo, 1, seconds=5) not in ("rejected", "quarantined")
    assert sorted(Finding.objects.values_list("verdict", flat=True)) == ["flag", "reject"]


def _send(api: ApiClient, mode: Mode, score: int, **client: str) -> Any:
    sent = {"player_id": "p-1", "score": score, "client": client}
    return api("POST", f"{SOLO}/scores", credential=make_key(mode.game), json=sent).json()


@pytest.mark.parametrize(
    ("first", "second", "flagged"),
    [
        ({"device": "phone"}, {"device": "tablet"}, True),
        ({"device": "phone"}, {"device": "phone"}, False),
        ({"device": "phone"}, {"address": "203.0.113.9"}, False),
        ({"address": "203.0.113.9"}, {"address": "198.51.100.7"}, True),
        ({"address": "203.0.113.9"}, {"address": "::ffff:203.0.113.9"}, False),
        ({"address": "203.0.113.9"}, {"address": "2001:db8::1"}, False),
        ({"address": "2001:db8::1"}, {"address": "2001:db8::2"}, False),
        ({"address": "2001:db8::1"}, {"address": "2001:db8:0:1::1"}, True),
        ({"address": "here"}, {"address": "there"}, True),
        ({"platform": "ios"}, {"platform": "android"}, False),
    ],
)
def test_a_player_in_two_places_at_once_is_flagged_and_hears_nothing(
    api: ApiClient, solo: Mode, first: dict[str, str], second: dict[str, str], flagged: bool
) -> None:
    one, other = _send(api, solo, 1, **first), _send(api, solo, 2, **second)
    assert one["fraud_check"] == other["fraud_check"]
    assert Finding.objects.count() == flagged
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 2
    if flagged:
        finding = Finding.objects.get()
        assert (finding.check_name, finding.verdict) == ("places", "flag")
        assert str(finding.attempt_id) == other["attempt_id"]


def test_two_places_hold_a_score_back_where_the_mode_says_so_and_are_not_looked_for_where_it_does_not(
    api: ApiClient, solo: Mode
) -> None:
    _tune(apart_act="quarantine")
    _send(api, solo, 1, device="phone")
    assert _send(api, solo, 2, device="tablet")["fraud_check"] == "quarantined"
    _tune(apart_seconds=0)
    assert _send(api, solo, 3, device="phone")["fraud_check"] != "quarantined"


def test_who_moves_slowly_enough_is_where_it_is(api: ApiClient, solo: Mode) -> None:
    _tune(apart_seconds=1)
    _send(api, solo, 1, device="phone")
    time.sleep(1.1)
    _send(api, solo, 2, device="tablet")
    assert not Finding.objects.exists()


def test_a_retry_from_elsewhere_is_no_second_place(api: ApiClient, solo: Mode) -> None:
    attempt = str(uuid4())
    for device in ("phone", "tablet"):
        sent = {"player_id": "p-1", "score": 1, "attempt_id": attempt, "client": {"device": device}}
        api("POST", f"{SOLO}/scores", credential=make_key(solo.game), json=sent)
    assert not Finding.objects.exists()


@time_machine.travel(0, tick=False)
def test_clocks_that_differ_from_the_servers_hold_up_nobody() -> None:
    """Buckets go by the server's clock: a web process in 1970 is no different."""
    from anticheat.pace import Rate, Turn, pass_through  # noqa: PLC0415 - beside its only use

    found = pass_through([Turn([("b", Rate(per_second=0.001, burst=2))])] * 3)
    assert [one.wait > 0 for one in found or ()] == [False, False, True]
