"""How far the boards are behind what was acknowledged: how old the oldest that is pending is, and what waits aside."""

from datetime import datetime

from config import clock
from leaderboards.models import Outbox, SetAside

ALARM_AFTER = 5.0  # seconds


def seconds_behind(*, now: datetime) -> float:
    """0 where nothing is pending. By number: almost the oldest, and found without looking at all of them."""
    oldest = Outbox.objects.order_by("pk").values_list("created_at", flat=True).first()
    return max(0.0, (now - oldest).total_seconds()) if oldest else 0.0


def boards_check() -> str:
    """For `doctor`: a sentence, or an error that says what is wrong."""
    seconds, aside = seconds_behind(now=clock.asked()), SetAside.objects.count()
    if aside:
        raise RuntimeError(f"{aside} could not be applied and were set aside: see the admin, Batches set aside.")
    if seconds > ALARM_AFTER:
        raise RuntimeError(f"Scores have been waiting for the boards for {seconds:.0f} s. Do the workers run?")
    return f"{seconds:.1f} s behind"
