"""Beat's scheduler, for clocks that are set back: what last ran "in the future" is due now, not in so many days."""

import time
from datetime import UTC, datetime
from typing import Any

from celery.schedules import schedstate
from django_celery_beat.schedulers import DatabaseScheduler, ModelEntry

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Entry(ModelEntry):
    last_run_at: datetime

    def is_due(self) -> schedstate:
        if self.last_run_at > self._default_now():
            self.last_run_at = _LONG_AGO
        found: schedstate = super().is_due()
        return found


class Scheduler(DatabaseScheduler):
    Entry = Entry
    _ticked_at = 0.0

    def tick(self, *args: Any, **kwargs: Any) -> float:
        at = time.time()
        if at < self._ticked_at:
            self._heap = None  # its times are all in the future: made again
        self._ticked_at = at
        seconds: float = super().tick(*args, **kwargs)
        return seconds
