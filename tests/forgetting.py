"""A way to Valkey that forgets its connections, as a router does: no end, no reset, and nothing comes through."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Way:
    def __init__(self, url: str) -> None:
        there = urlsplit(url)
        self._there = there.hostname or "", there.port or 0
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(there.netloc.rpartition("@")[2], f"127.0.0.1:{self._door.getsockname()[1]}")
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._forgotten: set[socket.socket] = set()
        self.asked = 0  # how often a server was asked whether it is there
        threading.Thread(target=self._take, daemon=True).start()

    def forget(self) -> None:
        """Those that there are; others may be made."""
        self._forgotten.update(end for pair in self._pairs for end in pair)

    def close(self) -> None:
        for end in (self._door, *(end for pair in self._pairs for end in pair)):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # who waits on it is woken
            end.close()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                pair = self._door.accept()[0], socket.create_connection(self._there)
                self._pairs.append(pair)
                for one, other in (pair, pair[::-1]):
                    threading.Thread(target=self._carry, args=[one, other], daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while said := one.recv(65536):
                if one not in self._forgotten:
                    self.asked += b"PING" in said
                    other.sendall(said)
            if one not in self._forgotten:
                other.shutdown(socket.SHUT_WR)


@contextmanager
def forgetful(url: str) -> Iterator[Way]:
    way = Way(url)
    yield way
    way.close()
