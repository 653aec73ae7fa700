"""Thousands of WebSockets to one board in one process: bytes made before, epoll, and of a frame the leader's score."""

import contextlib
import select
import socket
import time
from bisect import bisect_left

from bench import mix

_HELLO = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: cnVuZyBiZW5jaG1hcmsgIQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_CLOSE, _TEXT = 0x88, 0x81
_LONG, _LONGER = 126, 127  # lengths that say that the length follows
_AT_ONCE = 50  # that are opened together
_PATIENCE = 30.0  # seconds
_MUCH = 3  # tops of a hundred, which fill what little room there is within a second
_SMALL = 4096  # bytes of room, to those who will stop reading
_SEGMENT = 536  # bytes: of small ones a server holds few


def subscription(number: int, *, limit: int) -> bytes:
    """Masked with nought, which changes nothing."""
    text = (
        f'{{"op":"subscribe","id":"{number}","game":"{mix.GAME}","mode":"main","window":"alltime","scope":"global"'
        f',"limit":{limit}}}'
    ).encode()
    return bytes((_TEXT, 0x80 | _LONG)) + len(text).to_bytes(2, "big") + bytes(4) + text


class Socket:
    """What it has been told: when it first saw a leader's score, or a greater one."""

    __slots__ = ("buffer", "closed", "own", "scores", "times")

    def __init__(self, port: int, *, small: bool = False) -> None:
        self.own = socket.socket()
        if small:
            self.own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
            self.own.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
        self.own.settimeout(_PATIENCE)
        self.own.connect(("127.0.0.1", port))
        self.own.sendall(_HELLO)
        self.buffer, self.closed = b"", False
        self.times: list[float] = []
        self.scores: list[int] = []

    def subscribe(self, *wanted: bytes) -> None:
        """Once it is let in."""
        while b"\r\n\r\n" not in self.buffer:
            data = self.own.recv(4096)
            if not data:
                raise ConnectionError(f"a socket was refused: {self.buffer[:200]!r}")
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"a socket was refused: {head[:200]!r}")
        self.own.sendall(b"".join(wanted))
        self.own.settimeout(0)

    def hear(self) -> bool:
        """Whether it is still open."""
        try:
            data = self.own.recv(262144)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return False
        self._read(self.buffer + data if self.buffer else data, time.monotonic())
        return not self.closed

    def _read(self, data: bytes, now: float) -> None:
        start = 0
        while len(data) - start >= 2:  # noqa: PLR2004 - a frame's least head
            size, length = start + 2, data[start + 1] & 0x7F
            if length >= _LONG:
                wide = 2 if length == _LONG else 8
                length, size = int.from_bytes(data[size : size + wide], "big"), size + wide
            if len(data) < size + length:
                break
            if data[start] == _CLOSE:
                self.closed = True
            elif (at := data.find(b'"score":', size, size + length)) > 0:  # the first of a top is the leader
                self._saw(int(data[at + 8 : data.find(b",", at)]), now)
            start = size + length
        self.buffer = data[start:]

    def _saw(self, score: int, now: float) -> None:
        if not self.scores or score > self.scores[-1]:
            self.scores.append(score)
            self.times.append(now)

    def saw_at(self, score: int) -> float | None:
        """When it first saw that one, or a greater."""
        at = bisect_left(self.scores, score)
        return self.times[at] if at < len(self.times) else None


class Sockets:
    """Those of one process. What closes by itself was not asked to."""

    def __init__(self, port: int) -> None:
        self.port, self.lost = port, 0
        self.open: dict[int, Socket] = {}
        self.poller = select.epoll()

    def add(self, count: int) -> None:
        """And waits until each has seen the board once."""
        wanted, added = subscription(1, limit=10), list[Socket]()
        while len(added) < count:
            some = [Socket(self.port) for _ in range(min(_AT_ONCE, count - len(added)))]
            for one in some:
                one.subscribe(wanted)
                self.open[one.own.fileno()] = one
                self.poller.register(one.own, select.EPOLLIN)
            added += some
        deadline = time.monotonic() + _PATIENCE
        while not all(one.scores for one in added):
            self.hear(0.1)
            if self.lost or time.monotonic() > deadline:
                raise ConnectionError(f"{sum(not one.scores for one in added)} sockets were told nothing")

    def hear(self, patience: float) -> list[int]:
        """Whatever has come; the descriptors of others that this waits for."""
        others = []
        for descriptor, _ in self.poller.poll(patience):
            one = self.open.get(descriptor)
            if one is None:
                others.append(descriptor)
            elif not one.hear():
                self.poller.unregister(descriptor)
                del self.open[descriptor]
                one.own.close()
                self.lost += 1
        return others

    def close(self) -> None:
        for one in self.open.values():
            one.own.close()
        self.open.clear()
        self.poller.close()


def stalled(port: int, count: int) -> list[Socket]:
    """That ask for much and never read it."""
    some = [Socket(port, small=True) for _ in range(count)]
    for one in some:
        one.subscribe(*(subscription(number, limit=100) for number in range(_MUCH)))
    return some


def dropped(some: list[Socket], *, within: float) -> int:
    """How many were closed on the other side: read to its end, what was sent to them has one."""
    deadline, left = time.monotonic() + within, list(some)
    while left and time.monotonic() < deadline:
        left = [one for one in left if one.hear()]
        time.sleep(0.001)
    for one in some:
        with contextlib.suppress(OSError):
            one.own.close()
    return len(some) - len(left)
