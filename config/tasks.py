"""Tasks of the house itself."""

from celery import shared_task

from config import heartbeat


@shared_task(name="config.tasks.heartbeat")
def heartbeat_note() -> None:
    """Rung by beat every few seconds: done here, it proves beat, broker and worker at once."""
    heartbeat.note("worker")
    heartbeat.note("beat")
