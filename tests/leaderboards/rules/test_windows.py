"""Windows tile the time line in every timezone, and their ids say which part of it they are."""

import struct
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from leaderboards.rules.windows import Kind, Window, longest, timezone_named, window_at, window_by_id, window_named

PERIODIC = [Kind.DAILY, Kind.WEEKLY, Kind.MONTHLY]
DAY = timedelta(days=1)
ODD_ZONES = [
    "Africa/Casablanca",
    "America/Havana",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Casey",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Pacific/Apia",
]


def known(name: str) -> bool:
    try:
        timezone_named(name)
    except ValueError:
        return False
    return True


ZONES = st.sampled_from(ODD_ZONES) | st.sampled_from(sorted(filter(known, available_timezones())))
INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def bounds(window: Window) -> tuple[datetime, datetime]:
    assert window.starts_at is not None
    assert window.ends_at is not None
    return window.starts_at, window.ends_at


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(st.sampled_from(PERIODIC), INSTANTS, ZONES)
@example(Kind.DAILY, utc("2006-10-29T02:45"), "America/St_Johns")  # 23:15 again, after 00:00 had been
@example(Kind.DAILY, utc("2010-03-04T15:30"), "Antarctica/Casey")  # the clock fell back three hours, over midnight
def test_an_instant_lies_in_its_window_and_the_windows_tile(kind: Kind, instant: datetime, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    window = window_at(kind, instant, zone)
    starts_at, ends_at = bounds(window)
    assert starts_at <= instant < ends_at
    assert starts_at.tzinfo is ends_at.tzinfo is UTC
    assert window_at(kind, starts_at, zone) == window
    assert window_at(kind, ends_at - timedelta(microseconds=1), zone) == window
    following = window_at(kind, ends_at, zone)
    assert following.starts_at == ends_at
    assert following.id > window.id
    assert window_at(kind, starts_at - timedelta(microseconds=1), zone).ends_at == starts_at


@given(st.sampled_from(list(Kind)), INSTANTS, ZONES)
def test_a_window_is_found_again_by_its_id(kind: Kind, instant: datetime, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    window = window_at(kind, instant, zone)
    assert window_by_id(window.id, zone) == window
    assert window_named(window.id, instant + 400 * DAY, zone) == window
    assert window_named(kind, instant, zone) == window


@given(st.dates(date(1970, 1, 1), date(9998, 12, 30)), ZONES)
def test_every_date_ends_where_the_next_begins(day: date, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    window, following = window_by_id(f"daily:{day}", zone), window_by_id(f"daily:{day + DAY}", zone)
    starts_at, ends_at = bounds(window)
    assert following.starts_at == ends_at
    assert timedelta(0) <= ends_at - starts_at <= timedelta(hours=31)


@given(INSTANTS, ZONES)
def test_windows_are_named_after_the_local_date(instant: datetime, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    local = instant.astimezone(zone)
    day = local.date()
    assume(instant < bounds(window_by_id(f"daily:{day}", zone))[1])  # not in an hour shown again after midnight
    year, week, _ = day.isocalendar()
    assert window_at("daily", instant, zone).id == f"daily:{day}"
    assert window_at("weekly", instant, zone).id == f"weekly:{year}-W{week:02}"
    assert window_at("monthly", instant, zone).id == f"monthly:{day:%Y-%m}"


@given(st.sampled_from(PERIODIC), INSTANTS, ZONES)
def test_weeks_and_months_begin_when_one_of_their_days_does(kind: Kind, instant: datetime, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    starts_at, ends_at = bounds(window_at(kind, instant, zone))
    assert window_at("daily", starts_at, zone).starts_at == starts_at
    assert window_at("daily", ends_at, zone).starts_at == ends_at


@pytest.mark.parametrize(
    ("zone_name", "day", "starts_at", "hours"),
    [
        ("America/Havana", "2026-03-08", "2026-03-08T05:00", 23),  # no midnight: the day begins at 01:00
        ("America/Havana", "2025-11-02", "2025-11-02T04:00", 25),  # two midnights: it begins at the first
        ("Asia/Beirut", "2025-03-30", "2025-03-29T22:00", 23),
        ("Asia/Beirut", "2025-10-25", "2025-10-24T21:00", 25),  # 23:00 twice: the hour belongs to the day it ends
        ("America/Sao_Paulo", "2017-10-15", "2017-10-15T03:00", 23),
        ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00", 25),
        ("America/St_Johns", "2006-10-29", "2006-10-29T02:30", 25),  # back from 00:01 to 23:01: the day stays begun
        ("America/St_Johns", "2006-10-28", "2006-10-28T02:30", 24),
        ("Africa/Casablanca", "2026-02-15", "2026-02-14T23:00", 25),  # Ramadan
        ("Africa/Casablanca", "2026-03-22", "2026-03-22T00:00", 23),
        ("Asia/Kathmandu", "2026-04-05", "2026-04-04T18:15", 24),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", 25),
    ],
)
def test_a_night_when_clocks_change_has_one_day(zone_name: str, day: str, starts_at: str, hours: int) -> None:
    zone = timezone_named(zone_name)
    begin, end = bounds(window_by_id(f"daily:{day}", zone))
    assert begin == utc(starts_at)
    assert end - begin == timedelta(hours=hours)


def test_the_day_that_samoa_skipped_is_an_empty_window() -> None:
    zone = timezone_named("Pacific/Apia")
    skipped = window_by_id("daily:2011-12-30", zone)
    jump = utc("2011-12-30T10:00")
    assert bounds(skipped) == (jump, jump)
    assert window_at("daily", jump - timedelta(microseconds=1), zone).id == "daily:2011-12-29"
    assert window_at("daily", jump, zone).id == "daily:2011-12-31"
    assert bounds(window_by_id("weekly:2011-W52", zone)) == (utc("2011-12-26T10:00"), utc("2012-01-01T10:00"))


def test_a_clock_that_jumps_over_midnight_begins_the_day_where_it_lands() -> None:
    rule = b"\nSTD0DST,M3.5.0/23:30,M10.5.0/3\n"  # on a Sunday in March, from 23:30 to 00:30
    header = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + struct.pack(">lbb", 0, 0, 0) + b"STD\0"
    zone = ZoneInfo.from_file(BytesIO(header + header + rule))
    jump = utc("2026-03-29T23:30")
    assert window_by_id("daily:2026-03-30", zone).starts_at == jump
    assert window_at("daily", jump, zone).id == "daily:2026-03-30"
    assert window_at("daily", jump - timedelta(seconds=1), zone).id == "daily:2026-03-29"


def test_one_instant_is_in_different_days_in_auckland_and_los_angeles() -> None:
    instant = utc("2026-04-05T03:00")
    assert window_at("daily", instant, timezone_named("Pacific/Auckland")).id == "daily:2026-04-05"
    assert window_at("daily", instant, timezone_named("America/Los_Angeles")).id == "daily:2026-04-04"


@pytest.mark.parametrize(
    ("instant", "week"),
    [
        ("2024-12-29T23:59", "2024-W52"),
        ("2024-12-30T00:00", "2025-W01"),
        ("2021-01-03T12:00", "2020-W53"),
        ("2021-01-04T00:00", "2021-W01"),
        ("2027-01-01T00:00", "2026-W53"),
        ("2026-04-05T23:59", "2026-W14"),
    ],
)
def test_the_week_at_a_years_end_is_the_iso_week(instant: str, week: str) -> None:
    assert window_at("weekly", utc(instant), timezone_named("UTC")).id == f"weekly:{week}"


def test_all_time_has_no_bounds() -> None:
    window = window_named("alltime", utc("2026-04-05"), timezone_named("UTC"))
    assert window == window_by_id("alltime", timezone_named("UTC")) == Window(Kind.ALLTIME, "alltime", None, None)


def test_the_longest_window_is_the_one_a_player_keeps_longest() -> None:
    assert longest(["weekly", "alltime", "daily"]) is Kind.ALLTIME
    assert longest(["daily", "monthly", "weekly"]) is Kind.MONTHLY
    with pytest.raises(ValueError, match="at least one"):
        longest([])
    with pytest.raises(ValueError, match="'hourly'"):
        longest(["daily", "hourly"])


@pytest.mark.parametrize("year", [1970, 9998])
@pytest.mark.parametrize("zone_name", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_first_and_last_years_have_windows(year: int, zone_name: str) -> None:
    zone = timezone_named(zone_name)
    for window_id in (f"daily:{year}-01-01", f"daily:{year}-12-31", f"weekly:{year}-W01", f"monthly:{year}-12"):
        starts_at, ends_at = bounds(window_by_id(window_id, zone))
        assert starts_at < ends_at


@pytest.mark.parametrize("instant", [datetime.min, datetime.max, datetime(1969, 6, 1), datetime(9999, 1, 1)])  # noqa: DTZ001, DTZ901
@pytest.mark.parametrize("kind", PERIODIC)
def test_an_instant_outside_our_time_is_refused(kind: Kind, instant: datetime) -> None:
    for own in ("Etc/GMT+12", "Etc/GMT-14"):
        with pytest.raises(ValueError, match="from 1970 to 9998"):
            window_at(kind, instant.replace(tzinfo=ZoneInfo(own)), timezone_named("Etc/GMT-14"))
    with pytest.raises(ValueError, match="needs a timezone"):
        window_at(kind, instant, timezone_named("UTC"))
