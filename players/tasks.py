"""Doorbells of this floor."""

from celery import shared_task

from config import clock
from players.services import erased_ids_forget


@shared_task(name="players.tasks.erased_ids_sweep")
def erased_ids_sweep() -> None:
    clock.deleting(lambda now: erased_ids_forget(at=now))
