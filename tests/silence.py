"""Servers that do not answer: silent ones, and ports where nobody is."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

REFUSING = "redis://127.0.0.1:9/0"


class Silent:
    """A server that takes connections and says nothing, as one that was stopped, or is behind a cut cable."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"

    def tries(self) -> int:
        """Connections that were made to it since it was last asked."""
        self._server.settimeout(0)
        made = 0
        with suppress(BlockingIOError):
            while True:
                self._server.accept()[0].close()
                made += 1
        return made


@contextmanager
def silent_server() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Silent(server)
