"""Hot requests, answered without ASGI between the connection and the fast lane: no task, no messages, one write.

A request comes this way where the server has all of it and the fast lane knows its route. Every other request goes
through the door. Both ways answer alike, count alike and log alike.
"""

import asyncio
from contextvars import copy_context
from typing import Any, Protocol

from config.door import ERROR, SLOW, record
from config.request_context import RequestContext, begin

Headers = list[tuple[bytes, bytes]]


class Answer(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def body(self) -> bytes: ...


class Call(Protocol):
    request_id: str
    content: bytes

    @property
    def has_key(self) -> bool: ...
    @property
    def route_name(self) -> str: ...


class Lane(Protocol):
    def call_of(self, scope: Any) -> Any: ...
    def answer(self, call: Any) -> Any: ...
    def failed(self, call: Any, error: Exception) -> Any: ...


class Direct:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def call_of(self, scope: Any) -> Call | None:
        """None: not a request for this way."""
        call: Call | None = self._lane.call_of(scope)
        return call

    def answer(self, call: Call) -> "Answer | asyncio.Future[Answer]":
        try:
            answer: Answer | asyncio.Future[Answer] = self._lane.answer(call)
        except Exception as raised:  # noqa: BLE001 - it is the answer
            answer = self._lane.failed(call, raised)
        return answer

    def result(self, call: Call, done: "asyncio.Future[Answer]") -> Answer:
        raised = done.exception()
        if isinstance(raised, Exception):
            failure: Answer = self._lane.failed(call, raised)
            return failure
        return done.result()

    def record(self, scope: Any, call: Call, status: int, seconds: float) -> None:
        context = RequestContext(call.request_id, call.route_name, hot=True)
        if status < ERROR and seconds < SLOW:
            record(scope, context, status, seconds)
        else:  # it is logged, with its request id
            copy_context().run(_record_within, scope, context, status, seconds)


def _record_within(scope: Any, context: RequestContext, status: int, seconds: float) -> None:
    begin(context.request_id)
    record(scope, context, status, seconds)
