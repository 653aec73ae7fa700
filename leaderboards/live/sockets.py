"""One socket's way out: replies in order, and of each subscription the newest state only, so that nothing piles up."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import structlog

from leaderboards.live.subscriptions import Subscription

log = structlog.get_logger(__name__)
Send = Callable[[Any], Awaitable[None]]
MOST_REPLIES = 50  # that wait, to who asks and does not read
_FAREWELL = 3.0  # seconds that a last word may take

UNAUTHENTICATED = 4401
TOO_SLOW = 4408
TOO_MANY = 4429


class Socket:
    __slots__ = (
        "__weakref__",
        "_due",
        "_replies",
        "_send",
        "_writing",
        "address",
        "ended",
        "sent",
        "spoke_at",
        "subscriptions",
        "waits_since",
    )

    def __init__(self, send: Send, *, address: str) -> None:
        self._send = send
        self._replies: deque[str] = deque()
        self._due: dict[Subscription, None] = {}
        self._writing: asyncio.Task[None] | None = None
        self.address = address
        self.subscriptions: dict[str, Subscription] = {}
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.sent = 0
        self.waits_since: float | None = None  # a message that does not go
        self.spoke_at = monotonic()

    def say(self, frame: str) -> None:
        if len(self._replies) >= MOST_REPLIES:
            self.end(TOO_SLOW)
            return
        self._replies.append(frame)
        self._begin()

    def wake(self, subscription: Subscription) -> None:
        self._due[subscription] = None
        self._begin()

    def forget(self, subscription: Subscription) -> None:
        self._due.pop(subscription, None)

    def end(self, code: int | None) -> None:
        """With a close code; None: it is closed already."""
        if not self.ended.done():
            self.ended.set_result(code)

    async def close(self) -> None:
        """Once it has ended: a last word, to who takes it."""
        code = self.ended.result()
        if self._writing is not None and code != TOO_SLOW:
            await asyncio.wait([self._writing], timeout=_FAREWELL)  # an error that says why
        if self._writing is not None:
            self._writing.cancel()
        if code is not None:
            last = asyncio.get_running_loop().create_task(self._say_last(code))
            await asyncio.wait([last], timeout=_FAREWELL)
            last.cancel()

    async def _say_last(self, code: int) -> None:
        with suppress(Exception):  # it may be closed already
            await self._send({"type": "websocket.close", "code": code, "reason": ""})

    def _begin(self) -> None:
        if self._writing is None and not self.ended.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while (frame := self._next()) is not None:
                self.waits_since = monotonic()
                await self._send({"type": "websocket.send", "text": frame})
                self.spoke_at, self.waits_since = monotonic(), None
                self.sent += 1
        except Exception:  # noqa: BLE001 - whatever the server says of a socket that is gone
            self.end(None)
        finally:
            self._writing = None

    def _next(self) -> str | None:
        if self._replies:
            return self._replies.popleft()
        while self._due:
            subscription = next(iter(self._due))
            del self._due[subscription]
            if (frame := subscription.frame()) is not None:
                return frame
        return None
