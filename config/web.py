"""`python -m config.web`: granian serving the ASGI application, HTTP and WebSocket on one port."""

import sys

from granian import Granian
from granian.constants import Interfaces

from config import env
from config.embedded.errors import CannotStart


def main() -> None:
    try:
        from config import settings  # noqa: PLC0415 - what is wrong with them is said here, once, not by each process

        port = env.number("PORT", 8000, least=1, most=65535)
        processes = env.number("RUNG_WEB_PROCESSES", 1, least=1, most=64)
    except (env.ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")
    Granian(
        "config.asgi:application",
        interface=Interfaces.ASGI,
        address=env.text("RUNG_BIND", "127.0.0.1"),
        port=port,
        workers=processes,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
        backlog=2048,
        log_dictconfig=settings.LOGGING,
    ).serve()


if __name__ == "__main__":
    main()
