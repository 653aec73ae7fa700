"""Beat rings on after a clock was set back: what last ran in the future is due now."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery.schedules import schedule

from config.beat import Scheduler
from config.celery import app

pytestmark = pytest.mark.django_db(transaction=True)


def _scheduler(rung: list[str]) -> Scheduler:
    class Noting(Scheduler):
        def apply_entry(self, entry: object, producer: object = None) -> None:
            rung.append(entry.name)  # type: ignore[attr-defined]

        def setup_schedule(self) -> None:
            every = {"often": 60, "daily": 24 * 3600}
            self.update_from_dict(
                {name: {"task": f"tests.{name}", "schedule": schedule(run_every=n)} for name, n in every.items()}
            )

    made = Noting(app=app)
    made._finalize.cancel()  # noqa: SLF001 - the database is gone when the process ends
    return made


def _ticks(scheduler: Scheduler, times: int = 10) -> None:
    for _ in range(times):
        scheduler.tick()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_set_back_does_not_silence_beat(restarted: bool) -> None:
    rung: list[str] = []
    scheduler = _scheduler(rung)
    _ticks(scheduler)
    with _in(days=40):
        _ticks(scheduler)
        assert set(rung) == {"daily", "often"}
        scheduler.sync()
    rung.clear()
    _ticks(scheduler)
    if restarted:
        scheduler = _scheduler(rung)
    with _in(days=2):
        _ticks(scheduler)
    assert set(rung) == {"daily", "often"}


def _in(*, days: int) -> time_machine.travel:
    return time_machine.travel(datetime.now(UTC) + timedelta(days=days), tick=True)
