"""Moments and spans in words, the same that static/live.js goes on with."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def ago(at: datetime, *, now: datetime) -> str:
    """As Intl.RelativeTimeFormat says it, style short."""
    age = now - at
    if age < _MINUTE:
        return _("now")
    if age < _HOUR:
        return _("%(minutes)d min. ago") % {"minutes": age // _MINUTE}
    if age < _DAY:
        return _("%(hours)d hr. ago") % {"hours": age // _HOUR}
    return ngettext("%(days)d day ago", "%(days)d days ago", age // _DAY) % {"days": age // _DAY}


def left(until: datetime, *, now: datetime) -> str:
    """Its two largest units: 5 h 12 min."""
    seconds = max(0, int((until - now).total_seconds()))
    sizes = zip((86_400, 3_600, 60, 1), units().split(), strict=True)
    parts: list[str] = []
    for size, unit in sizes:
        count, seconds = divmod(seconds, size)
        if count or parts or size == 1:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def units() -> str:
    return _("d h min s")
