"""One time for all processes: the database's.

A process whose own clock is more than a minute away from the database's goes by the database's. Deleting by time is
refused until both agree again.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from config import valkey
from config.errors import Unavailable
from config.metrics import CLOCK_AHEAD, DELETIONS_REFUSED

log = structlog.get_logger(__name__)
MOST = timedelta(minutes=1)  # by which two clocks may differ and count as the same
_EVERY = 15.0  # seconds from one look to the next
_NONE = timedelta(0)
_ahead = _NONE  # how far this process's clock is ahead of the database's, where that is more than `MOST`


class ClockWasWrong(Unavailable):
    """`now` said something else than the database says. From here on it says the same."""


def now() -> datetime:
    """The time that counts, as far as this process knows. No trip."""
    return timezone.now() - _ahead


def heard(at: datetime) -> bool:
    """The database has just said that it is `at`. Whether `now` said so too; if not, from here on it does."""
    global _ahead  # noqa: PLW0603 - a process has one clock
    own = timezone.now()
    if abs(own - _ahead - at) <= MOST:
        return True
    _ahead = own - at if abs(own - at) > MOST else _NONE
    CLOCK_AHEAD.set((own - at).total_seconds())
    log.error("clock_differs", seconds_ahead=round((own - at).total_seconds()), goes_by="the database's")
    return False


def asked() -> datetime:
    """The time that counts, after asking the database: one trip."""
    heard(_database())
    return now()


def deleting(act: Callable[[datetime], object]) -> None:
    """Calls `act` with the time. Where this process's clock is not the database's it is not called: one is wrong."""
    at = asked()
    ahead = timezone.now() - at
    if abs(ahead) > MOST:
        DELETIONS_REFUSED.inc()
        log.error("nothing_deleted", seconds_ahead=round(ahead.total_seconds()), why="clocks differ")
    else:
        act(at)


def watch_meanwhile() -> None:
    """Asks now and then, for as long as this process lives: most of what it does asks for no time."""

    def watching() -> None:
        pause = threading.Event()
        while True:
            with suppress(Error):  # a database that is away says nothing
                asked()
            connection.close()
            pause.wait(_EVERY)

    threading.Thread(target=watching, name="clock", daemon=True).start()


def clocks_check() -> str:
    """For `doctor`: a sentence, or an error that says which clock is wrong."""
    ahead = {"This machine's clock": timezone.now() - _database()}
    for name in ("VALKEY_URL", "CACHE_URL"):
        with suppress(Unavailable):  # that it does not answer is said elsewhere
            furthest = max((_moment(seconds) for seconds in valkey.times(getattr(settings, name))), key=abs)
            ahead[f"that of {name}"] = furthest + ahead["This machine's clock"]
    said = "; ".join(f"{whose} is {_in_words(by)} the database's" for whose, by in ahead.items())
    if any(abs(by) > MOST for by in ahead.values()):
        raise RuntimeError(f"{said}. Nothing is deleted by time until this machine's agrees. Do they run NTP?")
    return said


def _moment(seconds: float) -> timedelta:
    """How far it is ahead of this process."""
    return datetime.fromtimestamp(seconds, UTC) - timezone.now()


def _in_words(ahead: timedelta) -> str:
    return f"{abs(ahead.total_seconds()):.1f} s {'behind' if ahead < _NONE else 'ahead of'}"


def _database() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    CLOCK_AHEAD.set((timezone.now() - at).total_seconds())
    return at
