"""What happens to keys of the boards' servers, each in its own order. Nothing is heard of one that is away."""

import select
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from socket import socket
from typing import Any

import hiredis
import structlog
from django.conf import settings

from config import valkey

log = structlog.get_logger(__name__)
_PING = b"*1\r\n$4\r\nPING\r\n"
CLASSES = "Kghz"  # by key: general commands, hashes, sorted sets
_AGAIN = 0.5  # seconds
_MOMENT = 0.002  # seconds; who is just hearing is done by then
_LOOK = 1.0  # seconds; a cluster or sentinels may have made others primaries by then


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection on which a server only talks."""

    socket: socket
    words: hiredis.Reader


class KeyEvents:
    """`on_event(key, event)` for each; called by the thread that listens, or by whoever asks: one at a time."""

    def __init__(self, patterns: Sequence[str], *, on_event: Callable[[str, str], None]) -> None:
        self.patterns, self.on_event = patterns, on_event
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}  # by server
        self._whole = False  # there is one to each
        self._heard_at = 0.0  # monotonic seconds
        self.losses = 0  # of lines
        self._answered = False  # what was asked on the line that is listened to

    def begin(self) -> None:
        threading.Thread(target=self._listen, name="key events", daemon=True).start()

    @property
    def is_listening(self) -> bool:
        return self._whole

    def open(self) -> None:
        """A line to each server that is written to, and to no other."""
        servers = valkey.servers(settings.VALKEY_URL)
        for gone in self._lines.keys() - servers.keys():
            self._close(gone)
        away: list[valkey.ValkeyUnavailable] = []
        for name in servers.keys() - self._lines.keys():
            try:
                line = _connected(servers[name], self.patterns)
            except valkey.ValkeyUnavailable as error:
                away.append(error)  # once the others are heard
                continue
            line.settimeout(0)
            self._lines[name] = _Line(line, hiredis.Reader())
        with self._lock:
            self._whole = self._lines.keys() == servers.keys()
        if away:
            raise away[0]

    def close(self) -> None:
        for name in list(self._lines):
            self._close(name)

    def hear(self, *, within: float = 0.0) -> None:
        """What has been told by now, or when somebody listened so many seconds ago."""
        if not self._lines or (within and time.monotonic() - self._heard_at < within):
            return
        if self._lock.acquire(timeout=_MOMENT):
            try:
                self._hear_each(self._heard)
            finally:
                self._lock.release()

    def catch_up(self) -> None:
        """All that happened before now. A server may answer one caller before it tells another what came first: so it
        is asked on the line on which it tells.
        """
        if self._lines:
            with self._lock:
                self._hear_each(self._caught_up)

    def _hear_each(self, heard: Callable[[_Line], bool]) -> None:
        began = time.monotonic()
        for name, line in list(self._lines.items()):
            if not heard(line):
                self._close(name)
        self._heard_at = began  # not before all of it was told

    def _caught_up(self, line: _Line) -> bool:
        self._answered, until = False, time.monotonic() + valkey.TIMEOUT
        try:
            line.socket.sendall(_PING)
            while not self._answered:
                left = until - time.monotonic()
                if left <= 0 or (_is_told([line], left) and not self._heard(line)):
                    return False
        except (OSError, ValueError):  # hung up, or closed by the thread that listens
            return False
        return True

    def _heard(self, line: _Line) -> bool:
        """False where it hung up."""
        try:
            while told := line.socket.recv(65536):
                line.words.feed(told)
                self._tell(line.words)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except (OSError, hiredis.HiredisError):
            pass
        return False

    def _tell(self, words: hiredis.Reader) -> None:
        while (message := words.gets()) is not False:
            if message == b"PONG" or (isinstance(message, list) and message[0] == b"pong"):
                self._answered = True
            elif isinstance(message, list) and message[0] == b"pmessage":
                self.on_event(message[2].partition(b"__:")[2].decode(errors="replace"), message[3].decode())

    def _close(self, name: str) -> None:
        self._whole = False
        if line := self._lines.pop(name, None):
            self.losses += 1
            line.socket.close()

    def _listen(self) -> None:
        pause, looked = threading.Event(), 0.0
        while True:
            try:
                if not self._whole or time.monotonic() - looked >= _LOOK:
                    looked = time.monotonic()
                    self.open()
                _is_told(list(self._lines.values()), _LOOK)
                self.hear()
            except (valkey.ValkeyUnavailable, OSError, ValueError) as error:
                log.warning("key_events_not_heard", why=getattr(error, "said", str(error)))
                pause.wait(_AGAIN)


def _is_told(lines: Sequence[_Line], seconds: float) -> bool:
    """Something, on any of them, within so long."""
    waiting = select.poll()  # select knows no more than a thousand open files
    for line in lines:
        waiting.register(line.socket, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _told_classes(server: Any) -> str:
    """Which a server tells of; "A" stands for all."""
    told = server.config_get("notify-keyspace-events").get("notify-keyspace-events", "")
    return str(told).replace("A", "ghz")


def _connected(server: Any, patterns: Sequence[str]) -> socket:
    """A connection on which a server tells of every key like these that it changes, from now on."""
    with valkey.answering("boards"):
        told = _told_classes(server)
        if not set(CLASSES) <= set(told):
            server.config_set("notify-keyspace-events", "".join(sorted({*told, *CLASSES})))
        connection: Any = server.connection_pool.make_connection()
        connection.connect()
        connection.send_command("PSUBSCRIBE", *(f"__keyspace@{connection.db}__:{pattern}" for pattern in patterns))
        # taken from the library, which would hang up when it forgets the connection
        own: socket = connection._sock  # noqa: SLF001
        connection._sock = None  # noqa: SLF001
        return own


def heard_check() -> str:
    """For `doctor`: whether the servers tell of changes."""
    for name, server in valkey.servers(settings.VALKEY_URL).items():
        with valkey.answering("boards"):
            told = _told_classes(server)
        if not set(CLASSES) <= set(told):
            raise RuntimeError(
                f"The boards' server {name}".strip() + " does not tell when somebody else writes to them:"
                f" set notify-keyspace-events {CLASSES}."
            )
    return "the boards' server tells of changes"
