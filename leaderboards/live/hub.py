"""One for each web process: its sockets, and what each of them watches. What is announced is put together once and
handed to all who watch it.
"""

import asyncio
from time import monotonic

import structlog
from django.conf import settings

from config.errors import DomainError
from config.metrics import SOCKET_MESSAGES, SOCKETS_CLOSED, SOCKETS_OPEN, SUBSCRIPTIONS
from leaderboards.live import messages
from leaderboards.live.announcements import Announcement, Top
from leaderboards.live.limits import Crowd
from leaderboards.live.link import Link
from leaderboards.live.looks import said_of
from leaderboards.live.rechecks import Rechecks
from leaderboards.live.sockets import TOO_SLOW, Socket
from leaderboards.live.subscriptions import Subscription
from leaderboards.live.threads import Threads

log = structlog.get_logger(__name__)
_HEARTBEAT = 15.0  # seconds without another message
_TICK = 0.5


class Heard:
    """An announcement, with what is put together of it once for all sockets."""

    def __init__(self, announcement: Announcement) -> None:
        self.announcement = announcement
        self._tails: dict[tuple[int, int], str] = {}

    def tail(self, top: Top, limit: int) -> str:
        key = (id(top), limit)
        if key not in self._tails:
            self._tails[key] = top.tail(limit)
        return self._tails[key]


class Hub:
    def __init__(self) -> None:
        self.sockets: set[Socket] = set()
        self.crowd = Crowd()
        self.threads = Threads()
        self._link = Link(self.threads, watched=self._watched, hear=self._hear)
        self._rechecks = Rechecks(self, self.threads)
        self._boards: dict[str, set[Subscription]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._sent = 0

    async def enter(self, socket: Socket) -> None:
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._tick()), loop.create_task(self._rechecks.run())]
            await self._link.begin()
        self.sockets.add(socket)
        self.crowd.enter(socket)
        SOCKETS_OPEN.inc()

    def leave(self, socket: Socket) -> None:
        self.sockets.discard(socket)
        self.crowd.leave(socket)
        SOCKETS_OPEN.dec()
        self._sent += socket.sent
        self.unwatch_all(socket)

    async def watch(self, subscription: Subscription) -> None:
        """From now on it hears of its board; without the servers for that, as soon as they are back."""
        known, board = subscription.socket.subscriptions, subscription.watch.board
        if (before := known.get(subscription.id)) is not None:
            self.unwatch(before)
        known[subscription.id] = subscription
        self._boards.setdefault(board, set()).add(subscription)
        self.crowd.watch(subscription)
        SUBSCRIPTIONS.inc()
        await self._link.join(board, said_of(subscription.message, subscription.watch))

    def unwatch(self, subscription: Subscription) -> None:
        known, board = subscription.socket.subscriptions, subscription.watch.board
        if known.get(subscription.id) is not subscription:
            return
        del known[subscription.id]
        subscription.socket.forget(subscription)
        self.crowd.unwatch(subscription)
        SUBSCRIPTIONS.dec()
        self._boards[board].discard(subscription)
        if not self._boards[board]:
            del self._boards[board]
            self._link.part(board)

    def unwatch_all(self, socket: Socket) -> None:
        for subscription in list(socket.subscriptions.values()):
            self.unwatch(subscription)

    def dismiss(self, subscription: Subscription, why: DomainError) -> None:
        """It ends, and is told why."""
        if subscription.socket.subscriptions.get(subscription.id) is subscription:
            self.unwatch(subscription)
            subscription.socket.say(messages.error(subscription.id, why))

    def subscriptions(self) -> list[Subscription]:
        return [one for board in self._boards.values() for one in board]

    def _watched(self) -> dict[str, set[str]]:
        return {
            board: {word for one in subscriptions for word in said_of(one.message, one.watch)}
            for board, subscriptions in self._boards.items()
        }

    def _hear(self, told: Announcement) -> None:
        heard = Heard(told)
        watching = self._boards.get(told.board, ())
        concerned = watching if told.only is None else [one for one in watching if one.watch.player_id in told.only]
        lacking = [one for one in concerned if not one.hear(heard)]
        if lacking:
            self._link.ask([told.board])

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            try:
                self._look_after(monotonic())
            except Exception:  # one that fails, for whatever reason, is not the last
                log.exception("sockets_not_looked_after")

    def _look_after(self, now: float) -> None:
        for socket in list(self.sockets):
            self._sent, socket.sent = self._sent + socket.sent, 0
            if socket.ended.done():
                continue  # it is told so, which may take seconds, and is counted once
            if socket.waits_since is None:
                if now - socket.spoke_at >= _HEARTBEAT:
                    socket.say(messages.HEARTBEAT)
            elif now - socket.waits_since > settings.SLOW_SOCKET_SECONDS:
                SOCKETS_CLOSED.labels("slow").inc()
                socket.end(TOO_SLOW)
        SOCKET_MESSAGES.inc(self._sent)
        self._sent = 0


hub = Hub()
