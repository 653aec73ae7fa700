"""`python -m config.web`: uvicorn serving the ASGI application, HTTP and WebSocket on one port.

This process only watches: it starts the web processes on one listening socket, starts another one where one dies, and
ends them when it is told to. What they may cost is bounded in `config/serving/`.
"""

import os
import resource
import sys
import tempfile
from contextlib import suppress

from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from config.embedded.errors import CannotStart
from config.env import ConfigurationError

_STOP_SECONDS = 8  # for requests that are being answered, when it is told to end
_DEAF_SECONDS = 60  # without a sign of life, after which a process is replaced


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    with tempfile.TemporaryDirectory(prefix="rung-metrics-") as folder:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", folder)  # where its processes add up what they count
        _serve()


def _serve() -> None:
    try:
        from config import settings  # noqa: PLC0415 - what is wrong with them is said here, once, not by each process
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")
    _raise_open_files()
    server = Config(
        "config.asgi:application",
        host=settings.BIND,
        port=settings.PORT,
        workers=settings.WEB_PROCESSES,
        loop="config.serving.loop:Loop",
        http="config.serving.http:Http",
        ws="config.serving.websocket:WebSocket",
        ws_max_size=settings.LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # a few bytes would unpack to many
        ws_ping_interval=None,  # we send heartbeats
        lifespan="on",
        log_config=settings.LOGGING,
        access_log=False,
        proxy_headers=False,  # config/address.py knows better
        server_header=False,
        backlog=2048,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_worker_healthcheck=_DEAF_SECONDS,
    )
    Multiprocess(server, sockets=[server.bind_socket()]).run()


def _raise_open_files() -> None:
    """To what the machine allows: each connection is one, and the usual thousand is soon used up."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # "infinitely many" is not had everywhere
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
