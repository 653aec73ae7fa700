"""Every connection of this web process: how many there may be, whose they are, and how long each may take.

Three kinds of callers, told apart by what they have done on the connection so far:

- a stranger has not finished a request yet,
- a visitor has, without a key,
- a proven caller has, with a valid API key.

A full house closes strangers first, then visitors who ask nothing, and never a proven caller. An address has a share of
all connections; proven callers do not count there. Behind our own proxies all callers have one address: no share then.
"""

import asyncio
from collections.abc import Iterator
from itertools import islice
from random import uniform
from typing import Any

from config.address import network_of
from config.metrics import CONNECTIONS_CLOSED, CONNECTIONS_OPEN

FIRST_SECONDS = 55.0  # for a new connection to begin a request: closing sooner only makes strangers come back sooner
HEAD_SECONDS = 10.0  # for the headers of a request, from its first byte
IDLE_SECONDS = 75.0  # between two requests
BODY_SECONDS = 20.0  # for a body to begin; later, what a body may lag behind its least rate
BODY_RATE = 16 * 1024  # bytes a second, at least
BODY_TOTAL_SECONDS = 120.0
LINGER_SECONDS = 2.0  # for a caller to read an answer that came before the body was whole
MESSAGE_SECONDS = 10.0  # for a WebSocket message that has begun
SHUT_SECONDS = 30.0  # between the last word to who broke a rule of sockets and the end of its connection
_LEAST_SHARE = 0.5  # of these two: thousands that come together are not closed together, and do not come back together
READER_SECONDS = 30.0  # for a caller to take the next piece of an answer
READER_BYTES = 32 * 1024  # the piece
MOST_UNSENT = 64 * 1024 * 1024  # bytes of answers that callers have not taken yet, all together
_ROUND = 2.0  # between two looks at a connection
_PARTS = 40  # of a round: of sixteen thousand connections one part takes a millisecond
_LOOKED_AT = 64  # of the oldest, to find one that asks nothing


class Connection:
    """What is known of one connection. Its protocol writes, `Connections` reads. Times are the loop's, in seconds."""

    __slots__ = (
        "_unsent_since",
        "_unsent_then",
        "address",
        "asks",
        "began",
        "body",
        "drained",
        "finished",
        "flow",
        "kind",
        "lingers",
        "message_since",
        "patience",
        "proven",
        "transport",
        "unsent",
    )

    def __init__(self, transport: Any, address: str, now: float) -> None:
        self.transport = transport
        self.address = address
        self.kind = "idle"  # what it waits for: idle | head | body | answer | socket | shut
        self.began = now  # when it began to wait for that
        self.patience = uniform(_LEAST_SHARE, 1.0)  # noqa: S311 - nobody gains by guessing it
        self.body = 0  # bytes that came of the body
        self.flow: Any = None  # says whether we read at all
        self.asks = False  # a request is being answered
        self.finished = False  # one was
        self.proven = False
        self.lingers = False
        self.message_since: float | None = None
        self.drained = False
        self.unsent = 0  # bytes of answers, when we last looked
        self._unsent_then, self._unsent_since = 0, now  # as it was when the caller last took a piece

    def overdue(self, now: float) -> str | None:
        """Why it must be closed now, if it must."""
        waited = now - self.began
        if self.lingers:
            return "answered_early" if waited > LINGER_SECONDS else None
        return self._socket_overdue(now) if self.kind in ("socket", "shut") else self._request_overdue(waited)

    def _socket_overdue(self, now: float) -> str | None:
        if self.kind == "shut":
            return "shut" if now - self.began > self.patience * SHUT_SECONDS else None
        begun = self.message_since
        return "slow_message" if begun is not None and now - begun > MESSAGE_SECONDS else None

    def _request_overdue(self, waited: float) -> str | None:
        match self.kind:
            case "idle":
                return "idle" if waited > (IDLE_SECONDS if self.finished else self.patience * FIRST_SECONDS) else None
            case "head":
                return "slow_head" if waited > HEAD_SECONDS else None
            case "body":
                slow = waited > BODY_SECONDS + self.body / BODY_RATE or waited > BODY_TOTAL_SECONDS
                return "slow_body" if slow else None
        return None

    @property
    def was_told(self) -> bool:
        """Whether anything was ever sent to it: of most of those that attack, nothing was."""
        return self.finished or self.asks or self.lingers

    def stalled(self, now: float) -> bool:
        """Its caller takes nothing of what is sent."""
        before, self.unsent = self.unsent, self.transport.get_write_buffer_size()
        if not before or self.drained or self.unsent <= self._unsent_then - READER_BYTES:
            self._unsent_then, self._unsent_since, self.drained = self.unsent, now, False
        return self.unsent > 0 and now - self._unsent_since > READER_SECONDS


class Connections:
    def __init__(self, *, most: int, share: int | None) -> None:
        """`share`: the most of one address; None where all callers come through our proxies."""
        self._most, self._share = most, share
        self._all: dict[Any, Connection] = {}
        self._strangers: dict[Connection, None] = {}  # the oldest first
        self._visitors: dict[Connection, None] = {}  # who asked longest ago first
        self._by_address: dict[str, dict[Connection, None]] = {}  # of both, the same order
        self._round: Iterator[Connection] = iter(())  # those that are still to be looked at
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._all)

    def open(self, transport: Any, client: tuple[str, int] | None, loop: asyncio.AbstractEventLoop) -> Connection:
        """Admits a connection, at the cost of another one where there is no room."""
        connection = Connection(transport, network_of(client[0] if client else ""), loop.time())
        self._all[transport] = connection
        self._strangers[connection] = None
        mates = self._by_address.setdefault(connection.address, {})
        mates[connection] = None
        CONNECTIONS_OPEN.inc()
        if self._share is not None and len(mates) > self._share:
            self._drop(_quiet_one(mates) or connection, "share")
        elif len(self._all) > self._most:
            self._drop(self._least(), "full")
        if self._timer is None:
            self._timer = loop.call_later(_ROUND / _PARTS, self._sweep, loop)
        return connection

    def of(self, transport: Any) -> Connection:
        return self._all[transport]

    def finished(self, connection: Connection) -> None:
        """A request of it was answered."""
        connection.finished = True
        if connection.proven or connection.transport not in self._all:
            return
        self._strangers.pop(connection, None)
        _to_the_end(self._visitors, connection)
        _to_the_end(self._by_address[connection.address], connection)

    def prove(self, connection: Connection) -> None:
        """A request of it carried a valid API key. Keys keep three quarters of the house at most: one game's servers
        cannot shut out everybody else.
        """
        kept = len(self._all) - len(self._strangers) - len(self._visitors)
        if not connection.proven and connection.transport in self._all and 4 * kept < 3 * self._most:
            connection.proven = True
            self._forget(connection)

    def closed(self, transport: Any) -> None:
        connection = self._all.pop(transport, None)
        if connection is not None:
            CONNECTIONS_OPEN.dec()
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._visitors.pop(connection, None)
        mates = self._by_address.get(connection.address, {})
        mates.pop(connection, None)
        if not mates:
            self._by_address.pop(connection.address, None)

    def _least(self) -> Connection:
        """The one that is missed least. There is one: who comes is a stranger."""
        quiet = None
        if len(self._strangers) == 1:  # nobody but who has just come
            quiet = _quiet_one(self._visitors) or next(iter(self._visitors), None)
        return quiet or next(iter(self._strangers))

    def _drop(self, connection: Connection, why: str) -> None:
        CONNECTIONS_CLOSED.labels(why).inc()
        self._forget(connection)
        self._all.pop(connection.transport, None)
        CONNECTIONS_OPEN.dec()
        connection.transport.abort()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self.look(loop.time(), parts=_PARTS)
        finally:
            self._timer = loop.call_later(_ROUND / _PARTS, self._sweep, loop)

    def look(self, now: float, *, parts: int = 1) -> None:
        """Closes connections that are overdue. A round over all of them takes so many calls, so that each is short."""
        for connection in self._next(parts):
            if connection.transport not in self._all:
                continue
            if connection.kind == "body" and connection.flow is not None and connection.flow.read_paused:
                connection.began += _ROUND  # the time that we take is not the caller's
            why = connection.overdue(now)
            if why is None and connection.was_told and connection.stalled(now):
                why = "slow_reader"
            if why is not None:
                self._drop(connection, why)

    def _next(self, parts: int) -> list[Connection]:
        size = -(-len(self._all) // parts)
        found = list(islice(self._round, size))
        if not found:
            self._drop_unread()
            self._round = iter(list(self._all.values()))
            found = list(islice(self._round, size))
        return found

    def _drop_unread(self) -> None:
        """While answers that callers have not taken need too much memory, drops the callers for whom the most waits."""
        waiting = [connection for connection in self._all.values() if connection.unsent]
        unsent = sum(connection.unsent for connection in waiting)
        for connection in sorted(waiting, key=lambda one: (one.proven, -one.unsent)):
            if unsent <= MOST_UNSENT:
                break
            unsent -= connection.unsent
            self._drop(connection, "unread")


def _to_the_end(order: dict[Connection, None], connection: Connection) -> None:
    order.pop(connection, None)
    order[connection] = None


def _quiet_one(order: dict[Connection, None]) -> Connection | None:
    """The oldest that asks nothing."""
    for _, connection in zip(range(_LOOKED_AT), order, strict=False):
        if not connection.asks:
            return connection
    return None
