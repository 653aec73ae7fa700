"""A load generator: N connections to loopback, each asks again as soon as it is answered, for a bounded time.

It shares two cores with what it measures, so it does as little as Python can: requests are bytes made beforehand,
sockets are asked directly, and of an answer only the status and the length are looked at.
"""

import gc
import re
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

GRACE_SECONDS = 30.0  # for what is under way when the time is over
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_EPOLL = hasattr(select, "epoll")
_IN, _OUT = (select.EPOLLIN, select.EPOLLOUT) if _EPOLL else (select.POLLIN, select.POLLOUT)


Requests = Callable[[int], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Load:
    """`requests` is called where the load is made, with a client's number: what that client asks, one after another."""

    port: int
    clients: int
    seconds: float
    requests: Requests
    rate: float = 0.0  # requests a second of all together; 0: as fast as they are answered
    expect: bytes = b""  # what every answer has to hold


@dataclass(frozen=True, slots=True)
class Measured:
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    answers: int
    failures: int
    began: float = 0.0  # time.monotonic, the same for all processes
    answered_at: list[list[float]] = field(default_factory=list)  # of each client, where the load has a rate or expects


class _Client:
    __slots__ = ("answered_at", "began", "buffer", "missing", "ok", "requests", "socket", "told", "unsent")

    def __init__(self, port: int, requests: Iterator[bytes]) -> None:
        self.requests = requests
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(0)
        self.began, self.missing, self.ok = 0.0, 0, True
        self.buffer = self.unsent = self.told = b""
        self.answered_at: list[float] = []


class _Crowd:
    def __init__(self, load: Load) -> None:
        self.load = load
        self.poller = select.epoll() if _EPOLL else select.poll()
        made = [_Client(load.port, load.requests(number)) for number in range(load.clients)]
        self.all = made
        self.clients = {client.socket.fileno(): client for client in made}
        for descriptor in self.clients:
            self.poller.register(descriptor, _IN)
        self.waiting: deque[tuple[float, _Client]] = deque()  # when each may ask again, soonest first
        self.took: list[float] = []
        self.failures = self.slots = 0
        self.began = time.monotonic()
        self.until = self.began + load.seconds

    def run(self) -> None:
        for client in list(self.clients.values()):
            self._ready(client, self.began)
        while self.clients:
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                self._ask(self.waiting.popleft()[1], now)
            if now > self.until + GRACE_SECONDS:
                self.failures += len(self.clients)
                return
            pause = max(self.waiting[0][0] - now, 0.0) if self.waiting else 1.0
            for descriptor, event in self.poller.poll(pause if _EPOLL else pause * 1000):
                client = self.clients[descriptor]
                if event & _OUT and client.unsent:
                    self._send(client, client.unsent)
                if event & ~_OUT and descriptor in self.clients:
                    self._hear(client)

    def _ready(self, client: _Client, now: float) -> None:
        if not self.load.rate:
            self._ask(client, now)
            return
        due = max(now, self.began + self.slots / self.load.rate)
        self.slots += 1
        self.waiting.append((due, client))

    def _ask(self, client: _Client, now: float) -> None:
        request = next(client.requests, None) if now < self.until else None
        if request is None:
            self._leave(client)
            return
        client.began = now
        self._send(client, request)

    def _send(self, client: _Client, what: bytes) -> None:
        try:
            sent = client.socket.send(what)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._fail(client)
            return
        if sent < len(what) or client.unsent:
            client.unsent = what[sent:]
            self.poller.modify(client.socket, _IN | _OUT if client.unsent else _IN)

    def _hear(self, client: _Client) -> None:
        try:
            data = client.socket.recv(262144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._fail(client)
            return
        if client.missing:
            client.missing -= len(data)
            client.told += data if self.load.expect else b""
        else:
            data = client.buffer + data
            head = data.find(b"\r\n\r\n") + 4
            if head < 4:  # noqa: PLR2004 - it was not found
                client.buffer = data
                return
            client.buffer = b""
            self._read(client, data, head)
        if client.missing <= 0:
            self._answered(client)

    def _read(self, client: _Client, data: bytes, head: int) -> None:
        at = data.find(b"content-length: ", 0, head)
        if at > 0:
            length = int(data[at + 16 : data.find(b"\r", at)])
        else:
            found = _LENGTH.search(data, 0, head)
            length = int(found[1]) if found else 0
        client.missing = head + length - len(data)
        client.ok = data.startswith(b"HTTP/1.1 2")
        client.told = data if self.load.expect else b""

    def _answered(self, client: _Client) -> None:
        now = time.monotonic()
        self.took.append(now - client.began)
        self.failures += not (client.ok and self.load.expect in client.told)
        client.missing = 0
        if self.load.expect:
            client.answered_at.append(now)
        self._ready(client, now)

    def _fail(self, client: _Client) -> None:
        self.failures += 1
        self._leave(client)

    def _leave(self, client: _Client) -> None:
        self.poller.unregister(client.socket)
        del self.clients[client.socket.fileno()]
        client.socket.close()


def run(load: Load) -> Measured:
    """In the calling process: call it in one that does nothing else."""
    crowd = _Crowd(load)
    gc.disable()
    try:
        crowd.run()
    finally:
        gc.enable()
    ended = time.monotonic()
    seen = sorted(crowd.took) or [0.0]

    def at(share: float) -> float:
        return round(seen[min(len(seen) - 1, int(len(seen) * share))] * 1000, 3)

    return Measured(
        per_second=round(len(crowd.took) / (ended - crowd.began), 1),
        p50_ms=at(0.5),
        p95_ms=at(0.95),
        p99_ms=at(0.99),
        answers=len(crowd.took),
        failures=crowd.failures + (not crowd.took),
        began=crowd.began,
        answered_at=[client.answered_at for client in crowd.all],
    )
