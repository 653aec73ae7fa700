"""How far the boards are behind is seen: by doctor, and as a metric."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config import heartbeat, metrics
from leaderboards import tasks
from leaderboards.lag import seconds_behind
from leaderboards.models import Mode, Outbox, SetAside
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture
def solo() -> Mode:
    heartbeat.note("worker")
    heartbeat.note("beat")
    return make_mode(make_game("arena"), min_score=0, max_score=1000)


def _doctor() -> tuple[str, bool]:
    said = StringIO()
    try:
        call_command("doctor", stdout=said)
    except CommandError as error:
        return f"{said.getvalue()}{error}", False
    return said.getvalue(), True


def test_what_waits_is_seen_until_the_boards_show_it(solo: Mode) -> None:
    assert _doctor()[1]
    submit(solo, "p-1", 5, START, 1)
    assert _doctor()[1], "a moment is nothing to speak of"
    Outbox.objects.update(created_at=timezone.now() - timedelta(seconds=30))
    assert 29 < seconds_behind(now=timezone.now()) < 60
    said, well = _doctor()
    assert not well
    assert "WRONG boards behind" in said
    assert "Do the workers run?" in said
    drain(solo)
    assert seconds_behind(now=timezone.now()) == 0
    assert _doctor()[1]


def test_what_is_set_aside_is_said(solo: Mode) -> None:
    SetAside.objects.create(mode=solo, shard=0, kind=0, payload=b"", error="x", created_at=timezone.now())
    said, well = _doctor()
    assert not well
    assert "1 could not be applied" in said


def test_the_sweep_tells_the_lag(solo: Mode) -> None:
    submit(solo, "p-1", 5, START, 1)
    Outbox.objects.update(created_at=timezone.now() - timedelta(seconds=30))
    tasks.sweep()
    told = [line for line in metrics.exposition().decode().splitlines() if line.startswith("rung_board_lag_seconds")]
    assert 29 < float(told[0].split()[-1]) < 60
    tasks.sweep()
    told = [line for line in metrics.exposition().decode().splitlines() if line.startswith("rung_board_lag_seconds")]
    assert float(told[0].split()[-1]) == 0
