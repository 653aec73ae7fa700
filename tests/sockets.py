"""Clients on `/ws`, and the worker that announces to them, in this process."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import connection
from django.utils import timezone
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from config.errors import Unavailable
from leaderboards.drain import stream_drain
from leaderboards.live.announce import boards_announce
from leaderboards.models import Outbox
from tests.live import Web

Told = dict[str, Any]
PATIENCE = 60.0  # seconds


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def say(self, message: object) -> None:
        self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def ask(self, message: object) -> Told:
        """The answer to it; what is told of other subscriptions meanwhile is let go."""
        self.say(message)
        own = message.get("id") if isinstance(message, dict) else None
        return self.hear_until(lambda told: told["type"] != "update" and own in (None, told.get("id")))[-1]

    def hear(self, *, timeout: float = PATIENCE) -> Told:
        """The next message that is no heartbeat."""
        while True:
            told: Told = json.loads(self.connection.recv(timeout=timeout))
            if told["type"] != "heartbeat":
                return told

    def hear_until(self, condition: Callable[[Told], object]) -> list[Told]:
        """All messages up to the first one of which that is true."""
        heard: list[Told] = []
        deadline = time.monotonic() + PATIENCE
        while not heard or not condition(heard[-1]):
            left = deadline - time.monotonic()
            assert left > 0, heard
            heard.append(self.hear(timeout=left))
        return heard

    def is_quiet(self, *, seconds: float = 1.0) -> bool:
        try:
            self.hear(timeout=seconds)
        except TimeoutError:
            return True
        return False

    def closed_with(self) -> int | None:
        """Whatever was still on its way is let go."""
        with suppress(ConnectionClosed):
            while True:
                self.connection.recv(timeout=PATIENCE)
        return self.connection.close_code


@contextmanager
def opened(web: Web, *, credential: str = "", **headers: str) -> Iterator[Socket]:
    if credential:
        headers["Authorization"] = f"Bearer {credential}"
    with connect(web.socket, open_timeout=PATIENCE, additional_headers=headers) as connection:
        yield Socket(connection)


def subscribe(mode: str = "solo", **more: Any) -> Told:
    return {"op": "subscribe", "id": "a", "game": "arena", "mode": mode, "window": "daily", "scope": "global", **more}


def follow(**more: Any) -> Told:
    return {"op": "follow", "id": "me", "game": "arena", "mode": "solo", "window": "daily", **more}


def shown(told: Told) -> list[tuple[int, str, int]]:
    return [(entry["rank"], entry["player_id"], entry["score"]) for entry in told["entries"]]


@contextmanager
def working() -> Iterator[None]:
    """A worker beside the test, as in the product."""
    ended = threading.Event()

    def work() -> None:
        try:
            while not ended.wait(0.02):
                with suppress(Unavailable):  # a task that fails is followed by another
                    for mode, shard in Outbox.objects.order_by().values_list("mode_id", "shard").distinct():
                        stream_drain(mode_id=mode, shard=shard, now=timezone.now())
                    boards_announce(now=timezone.now())
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()
