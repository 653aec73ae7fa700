"""Structured logs: JSON in production, readable in a terminal, the request id in every line, no secret in any."""

import logging
import re
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from config.request_context import current_id

# An API key's secret half, any JSON web token, a password in a URL, a one-time sign-in code. Sought in the rendered
# line, where a line break may be the two characters \n: none asks for a word to begin, none ends inside an escape.
_SECRETS = (
    (re.compile(r"(rung_[0-9a-z]{8}_)[0-9a-z]+"), r"\1…"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*"), "eyJ…"),
    (re.compile(r"(://[^\s:/@]*:)[^\s/]+@"), r"\1…@"),
    (re.compile(r"([?&](?:code|token)=)[\w.~%+-]+"), r"\1…"),
)
_GOES_ON = "\n    | "
_CONTROL = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


def without_secrets(line: str) -> str:
    for pattern, replacement in _SECRETS:
        line = pattern.sub(replacement, line)
    return line


def _on_one_line(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """A terminal shows what is said as it is: a line break in it would forge a line, an escape rewrite others. Lines
    that go on are marked, for some libraries say whole tracebacks.
    """
    event["event"] = _GOES_ON.join(line.translate(_CONTROL) for line in str(event["event"]).split("\n"))
    return event


def _of_request(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Asked for when there is a line: most requests have none."""
    request_id = current_id()
    if request_id is not None:
        event.setdefault("request_id", request_id)
    return event


def _redacted(logger: WrappedLogger, name: str, rendered: str | EventDict) -> str:
    return without_secrets(str(rendered))


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    _of_request,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(allow=["request_id"]),
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def configure_structlog() -> None:
    logging.captureWarnings(capture=True)  # Python's own warnings are lines like all others
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def dict_config(*, json: bool, level: str) -> dict[str, Any]:
    """Django's LOGGING: everything, ours and the libraries', through one formatter to standard error."""
    tail: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if json:
        tail += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        tail += [
            _on_one_line,
            structlog.dev.ConsoleRenderer(
                colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "rung": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [*tail, _redacted],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "rung"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "propagate": True, "level": "INFO"},
            "django.server": {"handlers": [], "propagate": True},
            # a caller's mistake is in our own request line already; a defect is logged once, with its traceback
            "django.request": {"handlers": [], "propagate": True, "level": "ERROR"},
            # likewise; else any stranger orders tracebacks. A forged form is told with one line.
            "django.security": {"level": "CRITICAL"},
            "django.security.csrf": {"level": "WARNING"},
            # a line for each tick and each doorbell says nothing; what fails is told
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "uvicorn.error": {"handlers": [], "propagate": True, "level": "WARNING"},
        },
    }
