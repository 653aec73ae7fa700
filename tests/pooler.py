"""A pooler like pgbouncer in transaction mode, at its meanest: no transaction gets the connection of the last."""

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Queue

import psycopg

_REFUSED = {80877103, 80877104}  # TLS, GSS
_GREETING = {"server_version": "18.0", "client_encoding": "UTF8", "TimeZone": "UTC", "integer_datetimes": "on"}


class Pooler:
    def __init__(self, url: str, *, connections: int) -> None:
        self.free: Queue[socket.socket] = Queue()  # first in, first out
        self.lent = 0
        self.own = [psycopg.connect(url, autocommit=True) for _ in range(connections)]
        for one in self.own:
            line = socket.socket(fileno=os.dup(one.pgconn.socket))
            line.settimeout(None)
            self.free.put(line)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.door.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=[self.door.accept()[0]], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, suppress(EOFError, OSError):
            while struct.unpack(">i", _start(client)[:4])[0] in _REFUSED:
                client.sendall(b"N")
            client.sendall(_message(b"R", struct.pack(">i", 0)))
            for name, value in _GREETING.items():
                client.sendall(_message(b"S", f"{name}\0{value}\0".encode()))
            client.sendall(_message(b"K", bytes(8)) + _message(b"Z", b"I"))
            while self._lend(client):
                pass

    def _lend(self, client: socket.socket) -> bool:
        """One transaction; False when the client goes."""
        kind, said = _heard(client)
        if kind == b"X":
            return False
        server, status = self.free.get(), b""
        self.lent += 1
        try:
            while status != b"I":
                server.sendall(said)
                if kind in b"QS":  # a query, or the end of several messages
                    status = _answered(server, client)
                if status != b"I":
                    kind, said = _heard(client)
        except (EOFError, OSError):  # in the middle of it
            server.sendall(_message(b"Q", b"ROLLBACK\0"))
            while _heard(server)[0] != b"Z":
                pass
            raise
        finally:
            self.free.put(server)
        return True

    def close(self) -> None:
        self.door.close()
        while not self.free.empty():
            self.free.get().close()
        for one in self.own:
            one.close()


def _answered(server: socket.socket, client: socket.socket) -> bytes:
    """All that a server says; in which state it is then."""
    while True:
        kind, said = _heard(server)
        client.sendall(said)
        if kind == b"Z":
            return said[-1:]


def _start(client: socket.socket) -> bytes:
    return _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)


def _heard(line: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(line, 5)
    return head[:1], head + _exactly(line, struct.unpack(">i", head[1:])[0] - 4)


def _exactly(line: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        some = line.recv(size - len(found))
        if not some:
            raise EOFError
        found += some
    return bytes(found)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


@contextmanager
def pooler(url: str, *, connections: int = 3) -> Iterator[Pooler]:
    own = Pooler(url, connections=connections)
    try:
        yield own
    finally:
        own.close()
