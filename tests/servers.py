"""A pytest plugin: the run's own PostgreSQL and Valkey, started before Django reads its settings, gone with the run.

Each xdist worker has a database of its own (pytest-django names it) and four Valkey databases of its own.
"""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from config.embedded.servers import embedded_servers
from config.env import valkey_database

_ROLES = 4  # boards, broker, channels, cache
_running = ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


@pytest.hookimpl(optionalhook=True, tryfirst=True)  # xdist has an answer of its own
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than cores: a quarter of the time is spent waiting, for disks and for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_unconfigure(config: pytest.Config) -> None:
    _running.close()


def _start() -> None:
    folder = Path(tempfile.mkdtemp(prefix="rung-test-"))
    _running.callback(shutil.rmtree, folder, ignore_errors=True)
    servers = _running.enter_context(embedded_servers(folder))
    given = ("BROKER_URL", "CHANNELS_URL", "CACHE_URL", "DATABASE_REPLICA_URL", "RUNG_DATABASE_POOLER")
    for name in (*given, "RUNG_ENV", "PORT", "ALLOWED_HOSTS", "RUNG_BIND", "SSL_CERT_FILE"):
        os.environ.pop(name, None)
    os.environ["RUNG_HOME"] = str(folder)
    os.environ["RUNG_WEB_PROCESSES"] = "1"  # tests that need several say so; by default there are as many as cores
    os.environ["SSL_CERT_DIR"] = str(folder)  # nobody speaks TLS here: else each client reads 120 certificates
    os.environ["DATABASE_URL"] = servers.database_url
    os.environ["RUNG_TEST_VALKEY"] = os.environ["VALKEY_URL"] = servers.valkey_url
    os.environ["SECRET_KEY"] = "not a secret, for tests only, but long enough to sign with"


worker = os.environ.get("PYTEST_XDIST_WORKER")
if worker is None:
    _start()
else:
    number = int(worker.removeprefix("gw"))
    os.environ["VALKEY_URL"] = valkey_database(os.environ["RUNG_TEST_VALKEY"], _ROLES * (number + 1))
