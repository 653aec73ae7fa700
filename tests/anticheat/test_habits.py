"""Habits, each with a player who has it and one who nearly has: what shows only in attempts one after the other."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import log
from typing import Any
from uuid import uuid4

import pytest

from anticheat.checks.clockwork import Regularity, Sleepless
from anticheat.checks.devices import Apart, Devices, Handover
from anticheat.checks.habits import Habit
from anticheat.checks.tempo import LogTiming, Tempo
from anticheat.trail import Seen, Trail
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict, Weight

BEGINS = datetime(2026, 10, 1, tzinfo=UTC)
TUNED = {"timing": {"per_second": 100}}


def attempt(at: float, score: int = 1000, **fields: Any) -> Seen:
    """So many seconds after the beginning."""
    told = {"device": "phone", "session": "s", "address": "198.51.100.7"} | fields
    arrived = BEGINS + timedelta(seconds=told.pop("arrived", at))
    return Seen(
        id=1, player=1, attempt_id=uuid4(), score=score, received_at=arrived, achieved_at=BEGINS.timestamp() + at,
        counts=True, points=score, level=log(score) if score > 0 else None, **told,
    )  # fmt: skip


def said(check: type[Habit], attempts: Iterable[Seen], checks: dict[str, Any] | None = None) -> list[Verdict]:
    habit, trail = check(Mode(pk=1, slug="solo", checks=TUNED | (checks or {}))), Trail()
    found = []
    for one in attempts:
        trail.add(one)
        if verdict := habit.look(trail):
            found.append(verdict)
    return found


def test_more_points_a_second_than_the_mode_gives_is_told() -> None:
    fair, fast = [attempt(0), attempt(10, 1000)], [attempt(0), attempt(10, 1001)]
    assert said(LogTiming, fair) == []
    found = said(LogTiming, fast)
    assert [one.reason for one in found] == ["1001 points in 10 s: more than 100 a second."]
    assert said(LogTiming, fast, {"timing": {}}) == [], "a mode that declares nothing allows everything"
    assert said(LogTiming, [attempt(0), attempt(10, 9000, session="t")]) == [], (
        "of a new session the beginning is unknown"
    )


def test_what_was_played_offline_and_arrives_at_once_is_not_fast() -> None:
    played = [attempt(100.0 * number + 20 * (number % 3), 5000, arrived=9000 + number) for number in range(30)]
    for habit in (LogTiming, Regularity, Apart, Devices, Sleepless):
        assert said(habit, played) == []


def test_a_clock_is_told_from_a_person() -> None:
    clock = [attempt(60.0 * number + number % 3) for number in range(30)]
    person = [attempt(60.0 * number + 25 * (number % 3)) for number in range(30)]
    found = said(Regularity, clock)
    assert found
    assert found[0].reason.startswith("24 attempts 60 seconds apart")
    assert said(Regularity, person) == []
    assert said(Regularity, clock[:24]) == [], "that is 23 pauses"


def test_who_never_sleeps_is_told() -> None:
    day = [attempt(600.0 * number) for number in range(6 * 20)]
    assert said(Sleepless, day[: 6 * 17]) == []
    found = said(Sleepless, day)
    assert [found[0].reason, found[-1].risk > found[0].risk] == ["103 attempts in 18 of 24 hours.", True]


def test_points_a_second_that_double_at_once_are_told_and_slow_growth_is_not() -> None:
    def played(rates: list[float]) -> list[Seen]:
        return [attempt(100.0 * number, round(100 * rate)) for number, rate in enumerate(rates)]

    varied = [30 + number % 5 for number in range(20)]
    doubled = [*varied, *(2 * rate for rate in varied[:10])]
    grown = [rate * (1 + number / 40) for number, rate in enumerate([*varied, *varied])]
    found = said(Tempo, played(doubled))
    assert "times the points a second it had before" in found[0].reason
    assert said(Tempo, played([*varied, *varied])) == []
    assert said(Tempo, played(grown[:20])) == []
    assert said(Tempo, played(doubled), {"tempo": {"times": 3}}) == []
    wild = [8.0, 90.0, 20.0, 60.0, 11.0, 75.0, 33.0] * 3
    assert said(Tempo, played([*wild, *(2 * rate for rate in wild[:10])])) == [], "chance does that to such a player"


def test_two_devices_at_a_time_are_told_once_it_is_no_accident() -> None:
    turns = [attempt(300.0 * number, device="phone" if number % 2 else "tablet") for number in range(8)]
    found = said(Devices, turns)
    assert found[0].reason == "On two devices at the same time, 3 times by now."
    assert said(Devices, turns[:4]) == []
    slow = [attempt(2000.0 * number, device="phone" if number % 2 else "tablet") for number in range(8)]
    assert said(Devices, slow) == []


def test_attempts_on_two_devices_that_overlap_are_told() -> None:
    phone = [attempt(5000.0 * number) for number in range(4)]
    tablet = [attempt(5000.0 * number + 60, 7000, device="tablet") for number in range(4)]  # of 70 seconds at least
    both = sorted([*phone, *tablet], key=lambda one: one.achieved_at)
    assert [one.details["overlaps"] for one in said(Devices, both)] == [3, 4]
    assert said(Devices, both, {"timing": {}}) == []


def test_places_are_judged_as_at_the_door() -> None:
    moved = [attempt(0), attempt(4, device="tablet")]
    assert [one.reason for one in said(Apart, moved)] == ["4.0 s before, the same player submitted on another device."]
    assert said(Apart, [attempt(0), attempt(11, device="tablet")]) == []


def test_who_is_another_player_since_a_new_device_came_is_told() -> None:
    before = [attempt(100.0 * number, 1000 + 100 * (number % 5)) for number in range(12)]
    bought = [attempt(5000 + 100.0 * number, 2400 + 200 * (number % 5), device="new") for number in range(8)]
    upgraded = [one._replace(score=1100, level=log(1100)) for one in bought]
    found = said(Handover, [*before, *bought])
    assert "scores are 2.3 times as good" in found[-1].reason
    assert said(Handover, [*before, *upgraded]) == []
    assert said(Handover, [*before, *bought[:4]]) == [], "four attempts say too little"


@pytest.mark.parametrize("habit", [LogTiming, Regularity, Sleepless, Tempo, Devices, Handover])
def test_a_habit_is_silent_where_the_mode_switches_it_off(habit: type[Habit]) -> None:
    played = [
        attempt(60.0 * number, 1000 if number < 60 else 50_000, device="phone" if number % 2 else "tablet")
        for number in range(1500)
    ]
    played += [attempt(90_000 + 60.0 * number, 1000 if number < 60 else 9000) for number in range(120)]
    played += [attempt(100_000 + 60.0 * number, 990_000, device="new") for number in range(20)]
    found = said(habit, played)
    assert found
    assert {one.weight for one in found} <= {Weight.FLAG, Weight.QUARANTINE}
    assert all(0 < one.risk < 1 and one.reason and len(one.reason) < 500 for one in found)
    off = {habit.name: {"on": False}}  # type: ignore[attr-defined]
    assert said(habit, played, off) == []
