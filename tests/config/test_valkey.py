"""The one client: what a server that does not answer costs a caller."""

import socket
from collections.abc import Iterator
from time import monotonic

import pytest
from kombu.exceptions import OperationalError

from config import valkey
from config.celery import app as celery


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing, as one that was stopped, or is behind a cut cable."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def test_a_silent_server_is_waited_for_once(silent: str) -> None:
    began = monotonic()
    with pytest.raises(valkey.ValkeyUnavailable):
        valkey.ping(silent)
    assert monotonic() - began < 1.5 * valkey.TIMEOUT


def test_a_silent_broker_does_not_hold_whoever_rings_for_ever(silent: str) -> None:
    began = monotonic()
    with celery.connection_for_write(silent) as broker, pytest.raises(OperationalError):
        celery.send_task("leaderboards.tasks.drain", args=[1, 0], connection=broker)
    assert monotonic() - began < 15
