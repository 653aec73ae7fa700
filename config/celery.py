"""The Celery app. Tasks are doorbells; the id of the request that rang goes along, into the task's log lines."""

import os
import warnings
from logging.config import dictConfig
from typing import Any

import structlog
from celery import Celery, signals
from celery.exceptions import SecurityWarning
from django.conf import settings

from config import heartbeat
from config.request_context import begin, current_id, new_request_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# `make up` as root is meant to work; what root is warned of is pickle, and our messages are JSON
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("rung")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_HEADER = "rung_request_id"


@signals.setup_logging.connect
def _our_logging(**_: Any) -> None:
    dictConfig(settings.LOGGING)


@signals.before_task_publish.connect
def _send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None:
        headers.setdefault(_HEADER, new_request_id(current_id()))


@signals.task_prerun.connect
def _bind_request_id(task: Any = None, **_: Any) -> None:
    begin(new_request_id(getattr(task.request, _HEADER, None)))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(task=task.name)


@signals.worker_ready.connect
def _worker_is_up(**_: Any) -> None:
    heartbeat.note("worker")


@signals.beat_init.connect
def _beat_is_up(**_: Any) -> None:
    heartbeat.note("beat")
