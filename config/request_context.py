"""What is known of the request being served: its id and its route. One per request, task or socket message."""

import random
import re
from contextvars import ContextVar

import msgspec

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class RequestContext(msgspec.Struct):
    request_id: str
    route: str = "unmatched"  # filled in by whoever resolves the address; a metric's label, so never the raw path
    hot: bool = False  # one of thousands a second: counted, but not logged unless it fails
    proven: bool = False  # it came with a valid API key


_current: ContextVar[RequestContext | None] = ContextVar("rung_request", default=None)


def new_request_id(offered: str | None = None) -> str:
    """The caller's own id where it is harmless in a log and a header, else a new one."""
    if offered and _ACCEPTABLE.fullmatch(offered):
        return offered
    return f"{random.getrandbits(128):032x}"


def begin(request_id: str) -> RequestContext:
    context = RequestContext(request_id)
    _current.set(context)
    return context


def current_id() -> str | None:
    context = _current.get()
    return context.request_id if context else None


def current() -> RequestContext:
    """The request being served; outside any (a shell, a test) a new one, so that every answer has an id."""
    return _current.get() or begin(new_request_id())
