"""The one client: what a server that does not answer costs a caller."""

import pytest
from kombu.exceptions import OperationalError

from config import valkey
from config.celery import app as celery
from tests.silence import Silent


def test_a_silent_server_is_waited_for_once(silent: Silent) -> None:
    with pytest.raises(valkey.ValkeyUnavailable):
        valkey.ping(silent.url)
    assert silent.tries() == 1


def test_a_silent_broker_does_not_hold_whoever_rings_for_ever(silent: Silent) -> None:
    with celery.connection_for_write(silent.url) as broker, pytest.raises(OperationalError):
        celery.send_task("leaderboards.tasks.drain", args=[1, 0], connection=broker)
    assert silent.tries() == 1
