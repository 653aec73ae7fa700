"""`python -m config.web`: granian serving the ASGI application, HTTP and WebSocket on one port."""

import sys

from granian import Granian
from granian.constants import Interfaces

from config.embedded.errors import CannotStart
from config.env import ConfigurationError


def main() -> None:
    try:
        from config import settings  # noqa: PLC0415 - what is wrong with them is said here, once, not by each process
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")
    Granian(
        "config.asgi:application",
        interface=Interfaces.ASGI,
        address=settings.BIND,
        port=settings.PORT,
        workers=settings.WEB_PROCESSES,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
        backlog=2048,
        log_dictconfig=settings.LOGGING,
    ).serve()


if __name__ == "__main__":
    main()
