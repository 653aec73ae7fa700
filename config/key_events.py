"""What happens to keys of the boards' server, in its own order. Nothing is heard while it is away."""

import select
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from socket import socket

import hiredis
import structlog
from django.conf import settings

from config import valkey

log = structlog.get_logger(__name__)
CLASSES = "Kghz"  # by key: general commands, hashes, sorted sets
_AGAIN = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection on which the server only talks."""

    socket: socket
    words: hiredis.Reader


class KeyEvents:
    """`on_event(key, event)` for each; called by the thread that listens, or by whoever calls `hear`: one at a time."""

    def __init__(self, patterns: Sequence[str], *, on_event: Callable[[str, str], None]) -> None:
        self.patterns, self.on_event = patterns, on_event
        self._lock = threading.Lock()
        self._line: _Line | None = None

    def begin(self) -> None:
        threading.Thread(target=self._listen, name="key events", daemon=True).start()

    @property
    def is_listening(self) -> bool:
        return self._line is not None

    def hear(self) -> None:
        """All that has been told by now."""
        if self._line is None:
            return
        with self._lock:
            line = self._line
            if line is None:
                return
            try:
                while told := line.socket.recv(65536):
                    line.words.feed(told)
                    self._tell(line.words)
                self._line = None  # hung up
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except (OSError, hiredis.HiredisError):
                self._line = None

    def _tell(self, words: hiredis.Reader) -> None:
        while (message := words.gets()) is not False:
            if isinstance(message, list) and message[0] == b"pmessage":
                self.on_event(message[2].partition(b"__:")[2].decode(errors="replace"), message[3].decode())

    def _listen(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self._line = self._open()
                while (line := self._line) is not None:
                    select.select([line.socket], [], [], 1.0)
                    self.hear()
            except (valkey.ValkeyUnavailable, OSError, ValueError) as error:
                log.warning("key_events_not_heard", why=getattr(error, "said", str(error)))
            pause.wait(_AGAIN)

    def _open(self) -> _Line:
        line = valkey.key_events(settings.VALKEY_URL, classes=CLASSES, patterns=self.patterns)
        line.settimeout(0)
        return _Line(line, hiredis.Reader())


def heard_check() -> str:
    """For `doctor`: whether the server tells of changes."""
    told = valkey.key_event_classes(settings.VALKEY_URL)
    if not set(CLASSES) <= set(told):
        raise RuntimeError(
            f"The boards' server does not tell when somebody else writes to them: set notify-keyspace-events {CLASSES}."
        )
    return "the boards' server tells of changes"
