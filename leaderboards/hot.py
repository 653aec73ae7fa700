"""How long boards live: while their window runs, and some days after."""

from datetime import datetime, timedelta

from django.conf import settings

from leaderboards.rules.windows import Window, timezone_named, window_by_id


def expires_at(window: Window) -> datetime | None:
    """None: never."""
    if window.ends_at is None:
        return None
    return window.ends_at + timedelta(days=settings.HOT_DAYS[window.kind])


def is_hot(window_id: str, timezone: str, at: datetime) -> bool:
    expires = expires_at(window_by_id(window_id, timezone_named(timezone)))
    return expires is None or expires > at
