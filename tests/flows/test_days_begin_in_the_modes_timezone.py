"""Days, weeks and months begin where the mode is at home, also in the nights when clocks change and at a year's end.

"Now" is the test's in Rung's own process. PostgreSQL and Valkey keep their clocks: when an attempt was received is
PostgreSQL's to say and no window depends on it, but Valkey drops a board whose time is over. So boards are played on
in years to come; calendars repeat after 28 years, 2052 is a 2024 and 2054 a 2026. Of years gone by, only what is
answered is looked at.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from leaderboards.models import Mode
from leaderboards.rules.mode import MOST_GRACE_SECONDS
from players.models import Game
from tests.client import ApiClient
from tests.factories import make_mode
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
HALF_AN_HOUR = timedelta(minutes=30)
A_DAY = timedelta(days=1)
AN_INSTANT = timedelta(microseconds=1)


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class Night:
    """One in which clocks change, and the day that it belongs to."""

    timezone: str
    date: str
    begins: datetime
    hours: int

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(hours=self.hours)

    def day(self, offset: int = 0) -> date:
        return date.fromisoformat(self.date) + offset * A_DAY


NIGHTS = [
    Night("Pacific/Auckland", "2051-09-24", _utc("2051-09-23T12:00"), 23),
    Night("Pacific/Auckland", "2051-04-02", _utc("2051-04-01T11:00"), 25),
    Night("America/Los_Angeles", "2051-03-12", _utc("2051-03-12T08:00"), 23),
    Night("America/Los_Angeles", "2051-11-05", _utc("2051-11-05T07:00"), 25),
    Night("America/Havana", "2051-03-12", _utc("2051-03-12T05:00"), 23),  # no midnight: the day begins at 01:00
    Night("America/Havana", "2051-11-05", _utc("2051-11-05T04:00"), 25),  # two midnights: it begins at the first
]
in_each_night = pytest.mark.parametrize("night", NIGHTS, ids=lambda night: f"{night.timezone} {night.date}")


class Server:
    """A game server, at whatever time it is told."""

    def __init__(self, api: ApiClient, key: str) -> None:
        self.api, self.key, self.now = api, key, datetime.now(UTC)

    @contextmanager
    def at(self, now: datetime) -> Iterator[None]:
        with time_machine.travel(now, tick=False):
            self.now = now
            yield

    def mode(self, game: Game, timezone: str) -> Mode:
        rules = {"min_score": 0, "max_score": 1000, "grace_seconds": MOST_GRACE_SECONDS}
        return make_mode(game, timezone.rpartition("/")[2].lower(), timezone=timezone, **rules)

    def send(self, mode: Mode, player_id: str, achieved_at: datetime | None = None) -> list[str]:
        """The windows that it counts in, as it is answered and as it is told later."""
        body: dict[str, object] = {"player_id": player_id, "score": 5}
        if achieved_at is not None:
            body["achieved_at"] = achieved_at.isoformat()
        answer = self.api("POST", f"/v1/games/arena/modes/{mode.slug}/scores", credential=self.key, json=body)
        assert answer.status_code == 202, answer.text
        known = self.api.get(
            f"/v1/games/arena/players/{player_id}/attempts/{answer.json()['attempt_id']}", credential=self.key
        )
        windows: list[str] = answer.json()["windows"]
        assert known.json()["windows"] == windows
        return windows

    def board(self, mode: Mode, window: str) -> "Board":
        drain(mode, now=self.now)
        answer = self.api.get(f"/v1/games/arena/modes/{mode.slug}/leaderboards/{window}?limit=1000")
        assert answer.status_code == 200, answer.text
        return Board(answer.json())


class Board:
    def __init__(self, told: dict[str, Any]) -> None:
        self.id = told["window_id"]
        self.starts_at, self.resets_at = (datetime.fromisoformat(told[side]) for side in ("starts_at", "resets_at"))
        self.players = [entry["player_id"] for entry in told["entries"]]
        assert told["total"] == len(self.players)

    @property
    def hours(self) -> float:
        return (self.resets_at - self.starts_at) / timedelta(hours=1)


@pytest.fixture
def server(api: ApiClient, key: str) -> Server:
    return Server(api, key)


def test_one_instant_is_in_other_windows_in_auckland_and_in_los_angeles(server: Server, arena: Game) -> None:
    instant = _utc("2052-06-30T20:00")  # the first of July and a Monday over there, still Sunday here
    auckland, angeles = (server.mode(arena, zone) for zone in ("Pacific/Auckland", "America/Los_Angeles"))
    windows = {
        auckland: {
            "daily:2052-07-01": ("2052-06-30T12:00", "2052-07-01T12:00"),
            "weekly:2052-W27": ("2052-06-30T12:00", "2052-07-07T12:00"),
            "monthly:2052-07": ("2052-06-30T12:00", "2052-07-31T12:00"),
        },
        angeles: {
            "daily:2052-06-30": ("2052-06-30T07:00", "2052-07-01T07:00"),
            "weekly:2052-W26": ("2052-06-24T07:00", "2052-07-01T07:00"),
            "monthly:2052-06": ("2052-06-01T07:00", "2052-07-01T07:00"),
        },
    }
    with server.at(instant + timedelta(minutes=1)):
        for mode, expected in windows.items():
            assert server.send(mode, "p-1", instant) == [*expected, "alltime"]
            for window, (starts_at, resets_at) in expected.items():
                for name in (window, window.partition(":")[0]):
                    board = server.board(mode, name)
                    assert (board.id, board.players) == (window, ["p-1"])
                    assert (board.starts_at, board.resets_at) == (_utc(starts_at), _utc(resets_at))
    for now, here, there in (
        ("2052-07-01T06:59", "daily:2052-06-30", "daily:2052-07-01"),
        ("2052-07-01T07:00", "daily:2052-07-01", "daily:2052-07-01"),
        ("2052-07-01T11:59", "daily:2052-07-01", "daily:2052-07-01"),
        ("2052-07-01T12:00", "daily:2052-07-01", "daily:2052-07-02"),
    ):
        with server.at(_utc(now)):
            for mode, today, own in ((angeles, here, "daily:2052-06-30"), (auckland, there, "daily:2052-07-01")):
                board = server.board(mode, "daily")
                assert (board.id, board.players) == (today, ["p-1"] if today == own else [])
                assert server.board(mode, own).players == ["p-1"]


@in_each_night
def test_scores_through_a_night_when_clocks_change_land_in_their_day(server: Server, arena: Game, night: Night) -> None:
    mode, begins, ends = server.mode(arena, night.timezone), night.begins, night.ends
    moments = [begins - A_DAY / 2 + n * HALF_AN_HOUR for n in range(2 * (night.hours + 24))]  # from noon to noon
    scores = [
        {"mode": mode.slug, "player_id": moment.isoformat(), "score": 5, "achieved_at": moment.isoformat()}
        for moment in moments
    ]
    days = [night.day(offset) for offset in (-1, 0, 1)]
    with server.at(ends + A_DAY / 2):
        answer = server.api("POST", "/v1/games/arena/scores", credential=server.key, json={"scores": scores})
        assert answer.json()["accepted"] == len(moments)
        before, own, after = (server.board(mode, f"daily:{day}") for day in days)
        week = server.board(mode, f"weekly:{night.day():%G-W%V}")
    for board, day in zip((before, own, after), days, strict=True):
        shown = [one.isoformat() for one in moments if one.astimezone(ZoneInfo(night.timezone)).date() == day]
        assert board.players == shown, "those at whose time a clock on the wall there has this date"
    assert (before.resets_at, own.starts_at, own.resets_at, after.starts_at) == (begins, begins, ends, ends)
    assert (len(own.players), own.hours, before.hours, after.hours) == (2 * night.hours, night.hours, 24, 24)
    assert week.hours == 6 * 24 + night.hours


@in_each_night
def test_it_is_one_and_the_same_day_all_through_a_night_when_clocks_change(
    server: Server, arena: Game, night: Night
) -> None:
    mode, begins, ends = server.mode(arena, night.timezone), night.begins, night.ends
    first, last = begins - AN_INSTANT, ends
    through = [begins + n * HALF_AN_HOUR for n in range(10)]
    for number, now in enumerate([first, *through, ends - AN_INSTANT, last]):
        found = f"daily:{night.day({first: -1, last: 1}.get(now, 0))}"
        with server.at(now):
            assert server.send(mode, f"now-{number}")[0] == found
            assert server.send(mode, f"told-{number}", now)[0] == found
            assert server.board(mode, "daily").id == found
    with server.at(ends):
        own = server.board(mode, f"daily:{night.day()}")
    assert set(own.players) == {f"{how}-{number}" for how in ("now", "told") for number in range(1, 12)}


@pytest.mark.parametrize(
    ("timezone", "instant", "week"),
    [
        ("UTC", "2052-12-29T23:59", "2052-W52"),
        ("UTC", "2052-12-30T00:00", "2053-W01"),
        ("UTC", "2052-12-31T12:00", "2053-W01"),
        ("UTC", "2053-01-05T23:59", "2053-W01"),
        ("UTC", "2054-12-31T12:00", "2054-W53"),
        ("UTC", "2055-01-01T00:00", "2054-W53"),
        ("UTC", "2055-01-03T23:59", "2054-W53"),
        ("UTC", "2055-01-04T00:00", "2055-W01"),
        ("Pacific/Auckland", "2052-12-29T11:00", "2053-W01"),
        ("America/Los_Angeles", "2052-12-30T07:59", "2052-W52"),
        ("America/Los_Angeles", "2052-12-30T08:00", "2053-W01"),
    ],
)
def test_the_week_at_a_years_end_is_the_iso_week(
    server: Server, arena: Game, *, timezone: str, instant: str, week: str
) -> None:
    mode, now = server.mode(arena, timezone), _utc(instant)
    with server.at(now):
        assert server.send(mode, "p-1", now)[1] == f"weekly:{week}"
        board = server.board(mode, "weekly")
    assert (board.id, board.players, board.hours) == (f"weekly:{week}", ["p-1"], 7 * 24)
    assert board.starts_at <= now < board.resets_at
    monday = datetime.strptime(f"{week}-1", "%G-W%V-%u").replace(tzinfo=ZoneInfo(timezone))
    assert board.starts_at == monday


@pytest.mark.parametrize(
    ("instant", "day", "week"),
    [
        ("2024-12-29T12:00", "2024-12-29", "2024-W52"),
        ("2024-12-30T12:00", "2024-12-30", "2025-W01"),
        ("2026-12-31T12:00", "2026-12-31", "2026-W53"),
        ("2027-01-01T12:00", "2027-01-01", "2026-W53"),
        ("2027-01-04T00:00", "2027-01-04", "2027-W01"),
    ],
)
def test_a_score_of_those_years_ends_is_answered_with_its_iso_week(
    server: Server, arena: Game, *, instant: str, day: str, week: str
) -> None:
    mode, now = server.mode(arena, "Europe/London"), _utc(instant)
    with server.at(now):
        assert server.send(mode, "p-1", now) == [f"daily:{day}", f"weekly:{week}", f"monthly:{day[:7]}", "alltime"]
        assert server.board(mode, "weekly").id == f"weekly:{week}"
