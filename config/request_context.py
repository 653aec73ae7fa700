"""What is known of the request being served: its id and its route. One per request, task or socket message."""

import os
import re
from contextvars import ContextVar
from dataclasses import dataclass

import structlog

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


@dataclass(slots=True)
class RequestContext:
    request_id: str
    route: str = "unmatched"  # filled in by whoever resolves the address; a metric's label, so never the raw path
    hot: bool = False  # one of thousands a second: counted, but not logged unless it fails


_current: ContextVar[RequestContext | None] = ContextVar("rung_request", default=None)


def new_request_id(offered: str | None = None) -> str:
    """The caller's own id where it is harmless in a log and a header, else a new one."""
    if offered and _ACCEPTABLE.fullmatch(offered):
        return offered
    return os.urandom(16).hex()


def begin(request_id: str) -> RequestContext:
    context = RequestContext(request_id)
    _current.set(context)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    return context


def current_id() -> str | None:
    context = _current.get()
    return context.request_id if context else None


def current() -> RequestContext:
    """The request being served; outside any (a shell, a test) a new one, so that every answer has an id."""
    return _current.get() or begin(new_request_id())
