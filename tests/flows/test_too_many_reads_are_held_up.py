"""Limits of reads: who asks too often is told when to come again, through both doors and in every web process."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_django import Settings

from config.buckets import Bucket, Buckets, Rate
from config.valkey import ValkeyUnavailable
from leaderboards.models import Mode
from players.models import Game
from tests import live
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BOARD = f"{SOLO}/leaderboards/alltime"
NEVER = 0.001  # entries a second: none within a test
READS = [
    "/v1/games/arena",
    SOLO,
    f"{SOLO}/activity",
    BOARD,
    f"{BOARD}/players/p-1",
    f"{BOARD}/preview?score=1",
    f"{BOARD}/distribution",
    "/v1/games/arena/players/p-1",
    "/v1/games/arena/players/p-1/ranks",
    "/v1/games/arena/players/nobody",
]


@pytest.fixture
def solo() -> Mode:
    game = make_game("arena")
    make_player(game, "p-1")
    return make_mode(game, min_score=0, max_score=1000, submit="open")


@pytest.fixture(params=[True, False], ids=["fast lane", "Django"])
def door(request: pytest.FixtureRequest, settings: Settings) -> ApiClient:
    settings.FAST_LANE = request.param
    return ApiClient()


def _limit(**kinds: tuple[float, int]) -> None:
    limits = {kind: {"read": {"per_second": rate, "burst": burst}} for kind, (rate, burst) in kinds.items()}
    game = Game.objects.get(slug="arena")
    game.limits = limits
    game.full_clean()
    game.save()


@pytest.mark.parametrize("path", READS)
def test_an_address_reads_as_often_as_it_may(door: ApiClient, solo: Mode, path: str) -> None:
    _limit(address=(NEVER, 3))
    answers = [door.get(path) for _ in range(4)]
    assert [one.status_code == 429 for one in answers] == [False, False, False, True]
    assert told(answers[3]) == (429, "rate_limited")
    assert answers[3].headers["retry-after"] == str(answers[3].json()["retry_after"])
    assert answers[3].headers["cache-control"] == "no-store"
    assert door.get(path, credential=make_key(solo.game)).status_code != 429, "a key meets neither bucket"


def test_all_reads_of_a_game_share_its_bucket_and_writes_take_nothing(door: ApiClient, solo: Mode) -> None:
    _limit(address=(NEVER, 4))
    token = make_token(solo.game, "p-1")
    for _ in range(3):
        assert door("POST", f"{SOLO}/scores", credential=token, json={"score": 5}).status_code == 202
    lookup = {"json": {"player_ids": ["p-1"]}}
    assert door("POST", f"{BOARD}/lookup", **lookup).status_code == 200
    assert [door.get(path).status_code for path in (BOARD, "/v1/games/arena", BOARD)] == [200, 200, 200]
    assert told(door("POST", f"{BOARD}/lookup", **lookup)) == (429, "rate_limited")
    make_game("other")
    assert door.get("/v1/games/other").status_code == 200, "another game has buckets of its own"


def test_a_player_meets_its_own_bucket_and_its_addresses(door: ApiClient, solo: Mode) -> None:
    _limit(player=(NEVER, 2), address=(NEVER, 5))
    first, second = make_token(solo.game, "p-1"), make_token(solo.game, "p-2")
    codes = [door.get(f"{BOARD}/me", credential=first).status_code for _ in range(4)]
    assert codes == [200, 200, 429, 429]
    # the refusals took nothing: of the address there are three left, of which the second player takes its two
    make_player(solo.game, "p-2")
    assert [door.get(f"{BOARD}/me", credential=second).status_code for _ in range(3)] == [200, 200, 429]
    assert [door.get(BOARD).status_code for _ in range(2)] == [200, 429]


def test_a_credential_that_is_no_good_is_refused_for_that(door: ApiClient, solo: Mode) -> None:
    _limit(address=(NEVER, 1))
    assert [told(door.get(BOARD, credential="rung_no")) for _ in range(3)] == [(401, "unauthenticated")] * 3
    assert door.get(BOARD).status_code == 200


def test_what_is_private_is_limited_before_it_is_refused(door: ApiClient, solo: Mode) -> None:
    Game.objects.filter(slug="arena").update(public=False)
    _limit(address=(NEVER, 1))
    assert [door.get(BOARD).status_code for _ in range(2)] == [401, 429]


def test_after_its_retry_after_the_call_passes(door: ApiClient, solo: Mode) -> None:
    _limit(address=(2, 1))
    held = next(one for one in (door.get(f"{BOARD}/players/p-1") for _ in range(50)) if one.status_code != 200)
    time.sleep(held.json()["retry_after"])
    assert door.get(f"{BOARD}/players/p-1").status_code == 200


@pytest.mark.parametrize("alone", [True, False])
def test_a_bucket_whose_rate_was_raised_goes_by_the_new_rate(*, alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went on for as long as the old rate would have taken: hours."""
    if alone:
        monkeypatch.setattr("config.buckets._call", _unavailable)
    slow, fast = (Bucket("a", "rung:limit:test:raised", Rate(rate, 3)) for rate in (NEVER, 20))
    buckets = Buckets()
    assert [taken.wait > 0 for taken in buckets.take([(slow,)] * 4)] == [False, False, False, True]
    time.sleep(1.1)  # what was said is remembered for a second
    time.sleep(buckets.take([(fast,)])[0].wait)
    assert buckets.take([(fast,)])[0].wait == 0


def _unavailable(*_: object) -> None:
    raise ValkeyUnavailable


def test_limited_answers_say_how_much_is_left_and_what_any_cache_may_keep_does_not(door: ApiClient, solo: Mode) -> None:
    _limit(player=(NEVER, 5), address=(NEVER, 7))
    own = door.get(f"{BOARD}/me", credential=make_token(solo.game, "p-1"))
    assert own.headers["ratelimit-policy"] == '"player-read";q=5;w=5000, "address-read";q=7;w=7000'
    assert own.headers["ratelimit"] == '"player-read";r=4;t=1000, "address-read";r=6;t=1000'
    board = door.get(BOARD)
    assert board.headers["cache-control"].startswith("public")
    assert board.headers["ratelimit-policy"] == '"address-read";q=7;w=7000'
    assert "ratelimit" not in board.headers
    again = door.get(BOARD, headers={"If-None-Match": board.headers["etag"]})
    assert (again.status_code, again.headers["ratelimit-policy"]) == (304, '"address-read";q=7;w=7000')
    alone = door.get(f"{BOARD}/players/p-1")
    assert alone.headers["ratelimit"] == '"address-read";r=3;t=4000'


def test_without_limits_nothing_is_said_of_them_and_nobody_is_asked(door: ApiClient, solo: Mode) -> None:
    answers = [door.get(path) for path in READS * 2]
    assert not any("ratelimit" in name for one in answers for name in one.headers)


def test_in_production_reads_are_limited_by_themselves(door: ApiClient, solo: Mode, settings: Settings) -> None:
    settings.PLAYER_READS_PER_SECOND, settings.ADDRESS_READS_PER_SECOND = 50, 200
    assert door.get(BOARD).headers["ratelimit-policy"] == '"address-read";q=200;w=1'
    assert door.get("/v1/games").headers["ratelimit-policy"] == '"address-read";q=200;w=1'
    assert door.get("/v1/games/nowhere").headers["ratelimit-policy"] == '"address-read";q=200;w=1'
    _limit(address=(0, 1))
    assert "ratelimit-policy" not in door.get(BOARD).headers, "0: no limit"


def test_without_their_server_reads_are_counted_by_each_process_alone(
    door: ApiClient, solo: Mode, settings: Settings
) -> None:
    _limit(address=(NEVER, 3))
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    codes = [door.get(f"{BOARD}/players/p-1").status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]


def test_a_household_of_ipv6_is_one_address(door: ApiClient, solo: Mode, settings: Settings) -> None:
    _limit(address=(NEVER, 2))
    settings.PROXIES = 1
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")
    told_by_proxy = [{"X-Forwarded-For": f"6.6.6.6, {address}"} for address in addresses]
    codes = [door.get(BOARD, headers=headers).status_code for headers in told_by_proxy]
    assert codes == [200, 200, 429, 200]


def test_a_player_changes_its_own_profile_now_and_then_only(door: ApiClient, solo: Mode) -> None:
    token, path = make_token(solo.game, "p-1"), "/v1/games/arena/players/p-1"
    sent: dict[str, Any] = {"credential": token, "json": {"display_name": "Nova"}}
    answers = [door("PUT", path, **sent) for _ in range(60)]
    held = [one for one in answers if one.status_code == 429]
    assert all(one.status_code in (200, 429) for one in answers)
    assert held
    assert told(held[0]) == (429, "rate_limited")
    assert held[0].headers["retry-after"] == "1"
    key = make_key(solo.game)
    assert all(door.put(path, credential=key, json={"display_name": "Nova"}).status_code == 200 for _ in range(15))
    exports = [door.get(f"{path}/export", credential=token).status_code for _ in range(30)]
    assert 429 in exports
    erased = [door.delete(path, credential=token).status_code for _ in range(12)]
    assert set(erased) <= {204, 404, 401, 429}


def test_the_processes_of_one_web_server_count_together(solo: Mode, tmp_path: Path) -> None:
    """Four processes, connections spread over them, and all of it at once."""
    _limit(address=(NEVER, 40))
    with live.web(tmp_path, RUNG_WEB_PROCESSES="4") as web, ThreadPoolExecutor(16) as pool:
        codes = list(
            pool.map(lambda _: httpx.get(f"{web.origin}{BOARD}/players/p-1", timeout=60).status_code, range(120))
        )
    assert codes.count(200) == 40
    assert codes.count(429) == 80


def test_spare_entries_are_given_out_without_asking_again(solo: Mode) -> None:
    """And two processes together never give out more than there is."""
    one, other = Buckets(), Buckets()
    ask = (Bucket("address-read", "rung:limit:test", Rate(50, 50)),)
    assert one.at_hand(ask) is None
    taken = [process.take([ask] * 20) for process in (one, other)]
    given = sum(not single.wait for many in taken for single in many)
    spare = [process.at_hand(ask) for process in (one, other)]
    assert given == 40
    assert any(single is not None and not single.wait for single in spare)


def test_what_is_remembered_of_addresses_is_bounded() -> None:
    own = Buckets(most=100)
    for number in range(0, 1000, 50):
        own.take([(Bucket("a", f"rung:limit:test:{one}", Rate(50, 50)),) for one in range(number, number + 50)])
    assert len(own._held) <= 100  # noqa: SLF001
