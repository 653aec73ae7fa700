"""Doorbells. Nothing is carried in a task that is not in PostgreSQL, so each may come twice or never."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from anticheat.services.replay_verdicts import replays_release
from anticheat.services.replays import replays_forget
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.verifying import replays_verify
from config import clock


@shared_task(name="anticheat.tasks.rollbacks")
def rollbacks() -> None:
    rollbacks_run(now=clock.asked())


@shared_task(name="anticheat.tasks.replays")
def replays() -> None:
    replays_verify(clock=clock.asked)
    replays_release(now=clock.asked())


@shared_task(name="anticheat.tasks.tidy_replays")
def tidy_replays() -> None:
    clock.deleting(lambda now: replays_forget(before=now - timedelta(days=settings.REPLAY_DAYS)))
