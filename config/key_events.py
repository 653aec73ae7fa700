"""What happens to keys of the boards' servers, each in its own order. Nothing is heard of one that is away."""

import select
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from socket import socket
from typing import Any

import hiredis
import structlog
from django.conf import settings

from config import valkey

log = structlog.get_logger(__name__)
CLASSES = "Kghz"  # by key: general commands, hashes, sorted sets
_AGAIN = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection on which a server only talks."""

    socket: socket
    words: hiredis.Reader


class KeyEvents:
    """`on_event(key, event)` for each; called by the thread that listens, or by whoever calls `hear`: one at a time."""

    def __init__(self, patterns: Sequence[str], *, on_event: Callable[[str, str], None]) -> None:
        self.patterns, self.on_event = patterns, on_event
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}  # by server
        self._whole = False  # there is one to each

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
        self._whole = not away
        if away:
            raise away[0]

    def close(self) -> None:
        for name in list(self._lines):
            self._close(name)

    def hear(self) -> None:
        """All that has been told by now."""
        if not self._lines:
            return
        with self._lock:
            for name, line in list(self._lines.items()):
                if not self._heard(line):
                    self._close(name)

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
            if isinstance(message, list) and message[0] == b"pmessage":
                self.on_event(message[2].partition(b"__:")[2].decode(errors="replace"), message[3].decode())

    def _close(self, name: str) -> None:
        self._whole = False
        if line := self._lines.pop(name, None):
            line.socket.close()

    def _listen(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.open()
                # woken now and then: a cluster may have other primaries by now
                select.select([line.socket for line in self._lines.values()], [], [], 1.0)
                self.hear()
            except (valkey.ValkeyUnavailable, OSError, ValueError) as error:
                log.warning("key_events_not_heard", why=getattr(error, "said", str(error)))
                pause.wait(_AGAIN)


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
