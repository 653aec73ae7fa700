"""A free port on the loopback interface, the same one as last time where that can be."""

import secrets
import socket

from config.embedded.errors import CannotStart

# Below the range from which systems take the near end of outgoing connections. Inside it, a client that knocks on the
# port of a dead server can be given that very port, connect to itself, and keep the server from coming back.
LOWEST, HIGHEST = 15_000, 30_000
TRIES = 200


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(remembered: int | None = None) -> int:
    if remembered is not None and is_free(remembered):
        return remembered
    for _ in range(TRIES):
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)
        if is_free(port):
            return port
    raise CannotStart(f"No free port was found between {LOWEST} and {HIGHEST}.")
