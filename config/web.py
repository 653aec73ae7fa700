"""`python -m config.web`: granian serving the ASGI application, HTTP and WebSocket on one port."""

import os
import resource
import sys
import tempfile
from contextlib import suppress

from granian import Granian
from granian.constants import Interfaces

from config.embedded.errors import CannotStart
from config.env import ConfigurationError


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rung-metrics-") as folder:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder)  # where its processes add up what they count
        _serve()


def _serve() -> None:
    try:
        from config import settings  # noqa: PLC0415 - what is wrong with them is said here, once, not by each process
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")
    _raise_open_files()
    Granian(
        "config.asgi:application",
        interface=Interfaces.ASGI,
        address=settings.BIND,
        port=settings.PORT,
        workers=settings.WEB_PROCESSES,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
        backlog=2048,
        # of connections, idle ones among them; granian's own default is the backlog, and whoever comes next waits
        backpressure=settings.WEB_CONNECTIONS,
        log_dictconfig=settings.LOGGING,
    ).serve()


def _raise_open_files() -> None:
    """To what the machine allows: each connection is one, and the usual thousand is soon used up."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # "infinitely many" is not had everywhere
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
