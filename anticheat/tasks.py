"""Doorbells. Nothing is carried in a task that is not in PostgreSQL, so each may come twice or never."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from anticheat.services.replay_verdicts import replays_release
from anticheat.services.replays import replays_forget
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.verifying import replays_verify


@shared_task(name="anticheat.tasks.rollbacks")
def rollbacks() -> None:
    rollbacks_run(now=timezone.now())


@shared_task(name="anticheat.tasks.replays")
def replays() -> None:
    replays_verify(clock=timezone.now)
    replays_release(now=timezone.now())


@shared_task(name="anticheat.tasks.tidy_replays")
def tidy_replays() -> None:
    replays_forget(before=timezone.now() - timedelta(days=settings.REPLAY_DAYS))
