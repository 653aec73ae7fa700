"""Doorbells of this floor."""

from celery import shared_task
from django.utils import timezone

from players.services import erased_ids_forget


@shared_task(name="players.tasks.erased_ids_sweep")
def erased_ids_sweep() -> None:
    erased_ids_forget(at=timezone.now())
