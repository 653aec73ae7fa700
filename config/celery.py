"""The Celery app. Tasks are doorbells; the id of the request that rang goes along, into the task's log lines."""

import os
import warnings
from logging.config import dictConfig
from typing import Any

from celery import Celery, signals
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# `make up` as root on a small machine is meant to work; the broker's messages are JSON, which is what root is warned for
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("rung")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_HEADER = "rung_request_id"


@signals.setup_logging.connect
def _our_logging(**_: Any) -> None:
    from django.conf import settings

    dictConfig(settings.LOGGING)


@signals.before_task_publish.connect
def _send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    from config.request_context import current_id, new_request_id

    if headers is not None:
        headers.setdefault(_HEADER, new_request_id(current_id()))


@signals.task_prerun.connect
def _bind_request_id(task: Any = None, task_id: str = "", **_: Any) -> None:
    import structlog

    from config.request_context import begin, new_request_id

    begin(new_request_id(getattr(task.request, _HEADER, None)))
    structlog.contextvars.bind_contextvars(task=task.name)


@signals.worker_ready.connect
def _worker_is_up(**_: Any) -> None:
    from config import heartbeat

    heartbeat.note("worker")


@signals.beat_init.connect
def _beat_is_up(**_: Any) -> None:
    from config import heartbeat

    heartbeat.note("beat")
