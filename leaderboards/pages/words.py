"""What windows, scopes and rules are called on pages."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from leaderboards.rules.windows import Kind, Window
from players.countries import COUNTRIES, flag

_CURRENT = {
    Kind.DAILY: gettext_lazy("Today"),
    Kind.WEEKLY: gettext_lazy("This week"),
    Kind.MONTHLY: gettext_lazy("This month"),
    Kind.ALLTIME: gettext_lazy("All time"),
}
_SINCE = {
    Kind.DAILY: gettext_lazy("since yesterday"),
    Kind.WEEKLY: gettext_lazy("since last week"),
    Kind.MONTHLY: gettext_lazy("since last month"),
}
_DIMENSIONS = {
    "country": pgettext_lazy("dimension", "Country"),
    "region": pgettext_lazy("dimension", "Region"),
    "level": pgettext_lazy("dimension", "Level"),
}


def window_name(kind: str) -> str:
    """Of the one that runs."""
    return str(_CURRENT[Kind(kind)])


def window_title(window: Window, *, zone: str, now: datetime) -> str:
    """Of any: one that is over is called by its date."""
    if window.starts_at is None or window.ends_at is None or window.ends_at > now:
        return window_name(window.kind)
    first = window.starts_at.astimezone(ZoneInfo(zone)).date()
    if window.kind is Kind.MONTHLY:
        return date_format(first, "YEAR_MONTH_FORMAT")
    day = date_format(first, "DATE_FORMAT")
    return _("Week from %(day)s") % {"day": day} if window.kind is Kind.WEEKLY else day


def since(window: Window, *, now: datetime) -> str:
    """The period that movement on its board speaks of."""
    if window.ends_at is not None and window.ends_at <= now:
        return _("since the window before")
    return str(_SINCE.get(window.kind, ""))


def dimension_name(dimension: str) -> str:
    return str(_DIMENSIONS.get(dimension, dimension.replace("_", " ").capitalize()))


def flag_of(country: str | None) -> str:
    return flag(country) if country in COUNTRIES else ""


def value_name(dimension: str, value: str) -> str:
    if dimension == "country":
        return f"{flag_of(value)} {value}".strip()
    return value.upper() if dimension == "region" else value


def scope_name(scope: str) -> str:
    if scope == "global":
        return _("Everyone")
    dimension, _colon, value = scope.partition(":")
    return f"{dimension_name(dimension)} {value_name(dimension, value)}"
