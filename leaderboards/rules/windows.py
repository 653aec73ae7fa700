"""Which window an instant falls into, and from when to when a window lasts.

A day begins at the first instant that its date has in the mode's timezone, and lasts until the next day begins. Thus
the windows of a kind tile the time line without gap or overlap, whatever clocks do at night: the hour that a clock
shows twice belongs to one day, also where it falls back over midnight. A date that a zone skipped (Pacific/Apia,
2011-12-30) is a window that begins and ends at the same instant: no score is ever in it, and whoever counts through
the calendar need not know of it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9998  # the year after it still fits a datetime, so every window has an end

_DAY: Final = timedelta(days=1)
_ZONE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_ZONE_NAME_LENGTH: Final = 64
# "right/" counts leap seconds; the others mean something else on every machine.
_UNSTABLE_ZONE: Final = re.compile(r"(?:right|posix)/.*|localtime|posixrules|Factory")


class Kind(StrEnum):
    """The kinds of window, shortest first."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    ALLTIME = "alltime"


KINDS: Final = tuple(Kind)  # a kind is a bit in the log: new ones come last
# An ordinary window of each kind, for what a mode's rules show. A window's own budget takes its real length: a day of
# 25 hours (Antarctica/Casey had some of 27) tells ties apart until its last minute. All time is a horizon of ten years.
ORDINARY_SPAN: Final = {
    Kind.DAILY: timedelta(days=1),
    Kind.WEEKLY: timedelta(days=7),
    Kind.MONTHLY: timedelta(days=31),
    Kind.ALLTIME: timedelta(days=3653),
}


@dataclass(frozen=True, slots=True)
class Window:
    """From `starts_at` up to, not including, `ends_at`, both in UTC; without bounds for all time."""

    kind: Kind
    id: str
    starts_at: datetime | None
    ends_at: datetime | None


_ALLTIME: Final = Window(Kind.ALLTIME, Kind.ALLTIME.value, None, None)
_LABEL: Final = {
    Kind.DAILY: (re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"), "daily:2026-04-05"),
    Kind.WEEKLY: (re.compile(r"([0-9]{4})-W([0-9]{2})"), "weekly:2026-W14"),
    Kind.MONTHLY: (re.compile(r"([0-9]{4})-([0-9]{2})"), "monthly:2026-04"),
}


def timezone_named(name: str) -> ZoneInfo:
    refusal = f"There is no timezone {name[:_ZONE_NAME_LENGTH]!r}; use an IANA name such as 'Europe/Berlin' or 'UTC'."
    if len(name) > _ZONE_NAME_LENGTH or not _ZONE_NAME.fullmatch(name) or _UNSTABLE_ZONE.fullmatch(name):
        raise ValueError(refusal)
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:  # a folder is an OSError, a file that is no zone a ValueError
        raise ValueError(refusal) from error


def kind_named(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise ValueError(f"There is no window {name[:40]!r}; there are {', '.join(Kind)}.") from None


def longest(kinds: Iterable[str]) -> Kind:
    return _longest(tuple(kinds))


@lru_cache(maxsize=64)
def _longest(kinds: tuple[str, ...]) -> Kind:
    found = {kind_named(kind) for kind in kinds}
    if not found:
        raise ValueError("A mode has at least one window.")
    return max(found, key=list(Kind).index)


def window_at(kind: str, instant: datetime, zone: ZoneInfo) -> Window:
    """The window of this kind that the instant lies in."""
    if instant.tzinfo is None:
        raise ValueError("An instant needs a timezone.")
    kind = kind_named(kind)
    if kind is Kind.ALLTIME:
        return _ALLTIME
    if not FIRST_YEAR - 1 <= instant.year <= LAST_YEAR:
        raise ValueError(f"There are windows from {FIRST_YEAR} to {LAST_YEAR} only.")
    return _window(kind, _day_at(instant.astimezone(UTC), zone), zone)


def window_by_id(window_id: str, zone: ZoneInfo) -> Window:
    name, colon, label = window_id.partition(":")
    if window_id == Kind.ALLTIME:
        return _ALLTIME
    kind = kind_named(name)
    if kind is Kind.ALLTIME or not colon:
        raise ValueError(f"{window_id[:40]!r} does not name one window; ids look like 'daily:2026-04-05' or 'alltime'.")
    return _window(kind, _labelled_day(kind, label), zone)


def window_named(name: str, instant: datetime, zone: ZoneInfo) -> Window:
    """The window that a caller asks for: a kind stands for its current window, anything else is an id."""
    return window_by_id(name, zone) if ":" in name else window_at(name, instant, zone)


def _labelled_day(kind: Kind, label: str) -> date:
    pattern, example = _LABEL[kind]
    match = pattern.fullmatch(label)
    if match is None:
        raise ValueError(f"{label[:40]!r} is no {kind} window; an id looks like {example!r}.")
    year, *rest = map(int, match.groups())
    try:
        return date.fromisocalendar(year, rest[0], 1) if kind is Kind.WEEKLY else date(year, *(*rest, 1)[:2])
    except ValueError:
        raise ValueError(f"The calendar has no {label}, so there is no such {kind} window.") from None


def _window(kind: Kind, day: date, zone: ZoneInfo) -> Window:
    year, week, weekday = day.isocalendar() if kind is Kind.WEEKLY else (day.year, 0, 0)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"There are windows from {FIRST_YEAR} to {LAST_YEAR} only.")
    if kind is Kind.WEEKLY:
        label, first = f"{year}-W{week:02}", day - (weekday - 1) * _DAY
        following = first + 7 * _DAY
    elif kind is Kind.MONTHLY:
        label, first = f"{year}-{day.month:02}", day.replace(day=1)
        following = (first + 31 * _DAY).replace(day=1)
    else:
        label, first, following = day.isoformat(), day, day + _DAY
    return Window(kind, f"{kind}:{label}", _day_start(first, zone), _day_start(following, zone))


def _day_at(instant: datetime, zone: ZoneInfo) -> date:
    day = instant.astimezone(zone).date()
    while instant >= _day_start(day + _DAY, zone):  # the clock fell back over midnight: the new day has begun already
        day += _DAY
    return day


@lru_cache(maxsize=4096)  # a few days in a few zones are asked for with every score
def _day_start(day: date, zone: ZoneInfo) -> datetime:
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the wall clock's, in whatever zone
    start = midnight.replace(tzinfo=zone).astimezone(UTC)  # fold=0: the first of two

    def wall_clock(instant: datetime) -> datetime:
        return instant.astimezone(zone).replace(tzinfo=None)

    if wall_clock(start) == midnight:
        return start
    # The clock jumps over midnight, somewhere between the two readings that it would have had: find the jump.
    earliest = midnight.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = range(int((start - earliest).total_seconds()))
    jump = bisect_left(seconds, midnight, key=lambda second: wall_clock(earliest + timedelta(seconds=second)))
    return earliest + timedelta(seconds=jump)
