"""The same request through both doors: the fast lane, and Django alone; and what they answered, to be compared."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import pytest
from asgiref.sync import async_to_sync
from django.test import TestCase, override_settings

from config import metrics
from config.bridge import Bridge
from tests.client import connections_kept, in_the_test_thread
from tests.twins import Twin

_MAY_DIFFER = {b"x-request-id", b"date"}
JSON = "application/json"


class Ask(NamedTuple):
    """GAME, PRIVATE and ATTEMPT stand for a twin's own games, and for an id that no other request has."""

    method: str
    path: str
    query: str = ""
    who: str = "key"
    headers: tuple[tuple[str, str], ...] = ()
    body: Any = None
    kind: str | None = JSON

    def but(self, **changes: Any) -> "Ask":
        return self._replace(**changes)

    def sent(self, *headers: tuple[str, str]) -> "Ask":
        return self._replace(headers=(*self.headers, *headers))


class Answered(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    metric: tuple[str, str, int]


class Doors:
    """Which of the requests the fast lane answered by itself is counted: what it passes on is alike by nature."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from config.asgi import application_with, django_application  # noqa: PLC0415 - importing it sets Django up

        self.passed_on = 0
        self.own = 0
        self._metric: tuple[str, str, int] = ("", "", 0)
        bridge = Bridge(django_application, run=in_the_test_thread)

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            self.passed_on += 1
            await bridge(scope, receive, send)

        with override_settings(FAST_LANE=True):
            self.fast = application_with(counted, run=in_the_test_thread)  # type: ignore[arg-type]
        with override_settings(FAST_LANE=False):
            self.django = application_with(bridge, run=in_the_test_thread)
        monkeypatch.setattr(metrics, "answered", self._count)

    def _count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._metric = method, route, status

    def differences(
        self, asks: Iterable[tuple[str, Ask]], twins: tuple[Twin, Twin], *, times: int = 1
    ) -> dict[str, tuple[Answered, Answered]]:
        """By name, what Django and the fast lane answered where that was not the same."""
        found = {}
        for number, (name, ask) in enumerate(asks):
            expected = self.answered(self.django, ask, twins[0], number)
            for _ in range(times):
                before = self.passed_on
                told = self.answered(self.fast, ask, twins[1], number)
                self.own += self.passed_on == before
                if told != expected:
                    found[name] = (expected, told)
        return found

    def answered(self, door: Any, ask: Ask, twin: Twin, number: int = 0) -> Answered:
        status, headers, body = self.send(door, ask, twin, number)
        plain = sorted((name, twin.nameless(value)) for name, value in headers if name not in _MAY_DIFFER)
        own = dict(headers)[b"x-request-id"]
        return Answered(status, plain, twin.nameless(body).replace(own, b"REQUEST"), self._metric)

    def send(self, door: Any, ask: Ask, twin: Twin, number: int = 0) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        # the test's transaction never commits, and its connection is not the request's to close
        with TestCase.captureOnCommitCallbacks(execute=True), connections_kept():
            return async_to_sync(_sent)(door, _scope(ask, twin), twin.named(_bytes(ask.body), number))


async def _sent(door: Any, scope: dict[str, Any], body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    await door(scope, receive, send)
    return said[0]["status"], list(said[0]["headers"]), b"".join(part.get("body", b"") for part in said[1:])


def _scope(ask: Ask, twin: Twin) -> dict[str, Any]:
    path = twin.named(ask.path.encode()).decode()
    given = [] if any(name.lower() == "host" for name, _ in ask.headers) else [("Host", "127.0.0.1")]
    given += [("Content-Type", ask.kind)] if ask.kind is not None else []
    given += [("Authorization", twin.credentials[ask.who])] if twin.credentials[ask.who] is not None else []
    given += [header for header in ask.headers if header[1] != "absent"]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": ask.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "surrogateescape"),
        "raw_path": path.encode(),
        "query_string": ask.query.encode("utf-8", "surrogateescape"),
        "root_path": "",
        "headers": [(name.lower().encode(), _text(value)) for name, value in given],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
    }


def _text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _bytes(body: Any) -> bytes:
    if body is None or isinstance(body, bytes):
        return body or b""
    return json.dumps(body).encode()
