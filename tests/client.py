"""A client of the ASGI application that runs in the test's thread, so that it shares the test's transaction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from asgiref.sync import async_to_sync, sync_to_async
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import TestCase

from config.bridge import Bridge

JSON = {"Content-Type": "application/json"}


@contextmanager
def connections_kept() -> Iterator[None]:
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


async def in_the_test_thread(call: Callable[[], Any]) -> Any:
    return await sync_to_async(call, thread_sensitive=True)()


class ApiClient:
    def __init__(self) -> None:
        from config.asgi import application_with, django_application  # noqa: PLC0415 - importing it sets Django up

        application = application_with(Bridge(django_application, run=in_the_test_thread), run=in_the_test_thread)
        self.transport = httpx.ASGITransport(app=application)

    def __call__(
        self, method: str, path: str, *, credential: str = "", headers: dict[str, str] | None = None, **request: Any
    ) -> httpx.Response:
        headers = dict(headers or {})
        if credential:
            headers["Authorization"] = f"Bearer {credential}"
        # the test's transaction never commits, and its connection is not the request's to close
        with TestCase.captureOnCommitCallbacks(execute=True), connections_kept():
            return async_to_sync(self._send)(method, path, headers=headers, **request)

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self.transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **request)

    def get(self, path: str, **request: Any) -> httpx.Response:
        return self("GET", path, **request)

    def put(self, path: str, **request: Any) -> httpx.Response:
        return self("PUT", path, **request)

    def delete(self, path: str, **request: Any) -> httpx.Response:
        return self("DELETE", path, **request)


def told(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem that is told as the contract says."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return answer.status_code, problem["code"]
