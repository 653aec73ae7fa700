"""Doorbells. Nothing is carried in a task that is not in PostgreSQL, so each may come twice or never."""

from typing import Any

from celery import shared_task, signals

from config import clock
from config.metrics import BOARD_LAG
from leaderboards import noticing, partitions
from leaderboards.drain import stream_drain, streams_sweep
from leaderboards.lag import seconds_behind
from leaderboards.live.announce import boards_announce, boards_sweep
from leaderboards.services.corrections import bans_follow
from leaderboards.services.housekeeping import (
    boards_purge,
    erased_attempts_scrub,
    stamps_purge,
    standings_purge,
    standings_remake,
)
from leaderboards.services.reconciling import reconcile_sample
from leaderboards.services.refreshing import histograms_refresh
from leaderboards.services.set_aside import batches_retry_due


@signals.worker_process_init.connect
def _notice_meanwhile(**_: Any) -> None:
    noticing.note_meanwhile()


@shared_task(name="leaderboards.tasks.drain")
def drain(mode_id: int, shard: int) -> None:
    stream_drain(mode_id=mode_id, shard=shard, now=clock.asked())


@shared_task(name="leaderboards.tasks.sweep")
def sweep() -> None:
    """Beat's safety net for rings that were lost."""
    now = clock.asked()
    BOARD_LAG.set(seconds_behind(now=now))
    batches_retry_due(now=now)
    standings_remake(now=now)
    streams_sweep(now=now)


@shared_task(name="leaderboards.tasks.announce")
def announce() -> None:
    boards_announce(now=clock.asked())


@shared_task(name="leaderboards.tasks.announce_sweep")
def announce_sweep() -> None:
    """Beat's safety net for announcements that were lost, and for what changes without a score."""
    boards_sweep(now=clock.asked())


@shared_task(name="leaderboards.tasks.partitions_ahead")
def partitions_ahead() -> None:
    partitions.make_ahead(partitions.today())


@shared_task(name="leaderboards.tasks.bans")
def bans() -> None:
    """A ban begins and ends by the clock; nobody saves anything then."""
    bans_follow(now=clock.asked())


@shared_task(name="leaderboards.tasks.reconcile")
def reconcile() -> None:
    reconcile_sample(now=clock.asked())


@shared_task(name="leaderboards.tasks.histograms")
def histograms() -> None:
    histograms_refresh(now=clock.asked())


@shared_task(name="leaderboards.tasks.tidy_stamps")
def tidy_stamps() -> None:
    """And the boards that killed rebuilds have left."""
    clock.deleting(lambda now: stamps_purge(now=now))
    boards_purge()


@shared_task(name="leaderboards.tasks.tidy_standings")
def tidy_standings() -> None:
    clock.deleting(lambda now: standings_purge(now=now))


@shared_task(name="leaderboards.tasks.tidy_erased")
def tidy_erased() -> None:
    """Not by time, but of who is gone: the time says only how far back to look."""
    erased_attempts_scrub(now=clock.asked())
