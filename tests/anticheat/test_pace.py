"""Buckets: a burst at once and a rate for ever, counted by the server for all processes."""

import time
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from anticheat import pace
from anticheat.pace import Before, Place, Rate, Turn
from config import valkey
from config.metrics import PACE_UNKNOWN
from tests.at_once import at_once

SLOW = Rate(per_second=0.001, burst=50)


@pytest.fixture(autouse=True)
def _asked_at_once() -> Iterator[None]:
    """Whatever a test before this one met."""
    pace._asked_again_at = 0.0  # noqa: SLF001
    yield
    pace._asked_again_at = 0.0  # noqa: SLF001


def _waits(*turns: Turn) -> list[float]:
    found = pace.pass_through(turns)
    assert found is not None
    return [one.wait for one in found]


@pytest.mark.django_db
def test_eight_callers_at_once_get_the_burst_and_no_more() -> None:
    turn = Turn([("b", SLOW)])
    found = at_once(lambda _: [_waits(turn)[0] == 0 for _ in range(40)])
    assert sum(passed for one in found for passed in one) == 50


@pytest.mark.django_db
def test_eight_callers_get_exactly_what_the_rate_gives_at_the_servers_own_times() -> None:
    """Each answer tells the server's moment: told over in that order, a plain bucket lets the same ones through."""
    interval, burst, told = 20_000, 10, list[tuple[int, bool]]()

    def hammer(_: int) -> list[tuple[int, bool]]:
        until, mine = time.monotonic() + 0.5, []
        while time.monotonic() < until:
            args = [msgpack.packb(part) for part in ([(interval, burst)], [[1]], [])]
            at, waits, _places = valkey.cache_call(pace._library(), "rung_pace_1_pass", ["b"], *args)  # noqa: SLF001
            mine.append((int(at), waits[0] == 0))
        return mine

    for mine in at_once(hammer):
        told += mine
    full, passed = 0, 0
    for at, _ in sorted(told):
        if max(full - at, 0) + interval <= burst * interval:
            full, passed = max(full, at) + interval, passed + 1
    assert sum(one for _, one in told) == passed > burst


def test_after_the_wait_that_is_told_the_next_one_passes() -> None:
    turn = Turn([("b", Rate(per_second=0.5, burst=1))])
    assert _waits(turn) == [0]
    (wait,) = _waits(turn)
    assert 0 < wait <= 2
    time.sleep(wait)
    assert _waits(turn) == [0]


def test_what_is_asked_together_is_counted_one_by_one() -> None:
    turn = Turn([("b", Rate(per_second=0.001, burst=3))])
    assert [wait == 0 for wait in _waits(*[turn] * 5)] == [True, True, True, False, False]


def test_very_many_are_asked_in_parts_and_counted_as_one() -> None:
    turn = Turn([("b", Rate(per_second=0.001, burst=1200))])
    waits = _waits(*[turn] * 1300)
    assert [wait == 0 for wait in waits] == [True] * 1200 + [False] * 100


def test_who_is_held_up_by_one_bucket_takes_nothing_from_the_others() -> None:
    empty, full = ("a", Rate(per_second=0.001, burst=1)), ("b", Rate(per_second=0.001, burst=2))
    assert [wait == 0 for wait in _waits(Turn([empty]), Turn([empty, full]), Turn([full]), Turn([full]))] == [
        True,
        False,
        True,
        True,
    ]


def test_a_bucket_that_is_full_again_is_not_kept() -> None:
    _waits(Turn([("b", Rate(per_second=1000, burst=3))]))
    server = valkey.client(django_settings.CACHE_URL)
    assert 0 <= server.pttl("b") <= 2 or not server.exists("b")


def _seen(address: str, device: str = "", *buckets: Any) -> Before | None:
    found = pace.pass_through([Turn(buckets, Place("p", address, device, 10))])
    assert found is not None
    return found[0].before


def test_where_a_player_was_is_known_the_next_time() -> None:
    assert _seen("203.0.113.9", "phone") is None
    before = _seen("203.0.113.10")
    assert before is not None
    assert (before.address, before.device) == ("203.0.113.9", "phone")
    assert 0 <= before.seconds < 60
    again = _seen("203.0.113.11")
    assert again is not None
    assert (again.address, again.device) == ("203.0.113.10", "")


def test_who_is_held_up_was_not_there() -> None:
    limit = ("b", Rate(per_second=0.001, burst=1))
    _seen("203.0.113.9", "", limit)
    assert _seen("203.0.113.10", "", limit) is None
    before = _seen("203.0.113.11")
    assert before is not None
    assert before.address == "203.0.113.9"


def test_a_server_that_lost_the_functions_is_given_them() -> None:
    assert _waits(Turn([("b", SLOW)])) == [0]
    valkey.client(django_settings.CACHE_URL).execute_command("FUNCTION DELETE", "rung_pace_1")
    assert _waits(Turn([("b", SLOW)])) == [0]


def test_without_the_server_everybody_passes_which_is_counted_and_it_is_left_alone_for_a_while(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    before = PACE_UNKNOWN._value.get()  # noqa: SLF001
    assert pace.pass_through([Turn([("b", SLOW)])] * 3) is None
    calls: list[Any] = []
    monkeypatch.setattr(valkey, "cache_call", lambda *args: calls.append(args))
    assert pace.pass_through([Turn([("b", SLOW)])]) is None
    assert not calls
    assert PACE_UNKNOWN._value.get() - before == 4  # noqa: SLF001
