"""A load generator: N connections to loopback, each asks again as soon as it is answered, for a bounded time."""

import asyncio
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    requests_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    failures: int


class _Connection(asyncio.Protocol):
    """Pipelines nothing: the next request leaves when the answer is complete."""

    def __init__(self, request: bytes, until: float, seen: list[float]) -> None:
        self.request, self.until, self.seen = request, until, seen
        self.failures = 0
        self.done = asyncio.get_running_loop().create_future()
        self.buffer = b""
        self.began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._ask()

    def _ask(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < _content_length(head):
            return
        now = time.perf_counter()
        self.seen.append(now - self.began)
        self.failures += not head.startswith(b"HTTP/1.1 2")
        self.buffer = b""
        if now < self.until:
            self._ask()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.failures += exc is not None
        if not self.done.done():
            self.done.set_result(None)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def measure(port: int, path: str, *, clients: int, seconds: float, headers: str = "") -> Measured:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode()
    return asyncio.run(_measure(port, request, clients, seconds))


async def _measure(port: int, request: bytes, clients: int, seconds: float) -> Measured:
    loop = asyncio.get_running_loop()
    seen: list[float] = []
    began = time.perf_counter()
    until = began + seconds
    made = [
        (await loop.create_connection(lambda: _Connection(request, until, seen), "127.0.0.1", port))[1]
        for _ in range(clients)
    ]
    await asyncio.wait_for(asyncio.gather(*(connection.done for connection in made)), timeout=seconds + 30)
    took = time.perf_counter() - began
    seen.sort()

    def at(share: float) -> float:
        return round(seen[min(len(seen) - 1, int(len(seen) * share))] * 1000, 2)

    return Measured(round(len(seen) / took), at(0.5), at(0.95), at(0.99), sum(one.failures for one in made))
