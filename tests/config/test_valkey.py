"""The one client: what a server that does not answer costs a caller."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from kombu.exceptions import OperationalError

from config import valkey
from config.celery import app as celery


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


@pytest.fixture
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Silent(server)


def test_a_silent_server_is_waited_for_once(silent: Silent) -> None:
    with pytest.raises(valkey.ValkeyUnavailable):
        valkey.ping(silent.url)
    assert silent.tries() == 1


def test_a_silent_broker_does_not_hold_whoever_rings_for_ever(silent: Silent) -> None:
    with celery.connection_for_write(silent.url) as broker, pytest.raises(OperationalError):
        celery.send_task("leaderboards.tasks.drain", args=[1, 0], connection=broker)
    assert silent.tries() == 1
