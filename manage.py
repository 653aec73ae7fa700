#!/usr/bin/env python
"""Rung's commands: `python manage.py help`."""

import os
import secrets
import sys

from config.embedded.errors import CannotStart
from config.env import ConfigurationError

# for those that start servers of their own and need none before
ALONE = ("bench", "evaluate_checks")
NOWHERE = {
    "SECRET_KEY": secrets.token_urlsafe(48),
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
    "VALKEY_URL": "valkey://127.0.0.1:9/0",
}


def examine() -> None:
    """Only reads the settings: what is wrong with them is one sentence."""
    try:
        import config.settings  # noqa: F401, PLC0415 - reading them is the point
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] and sys.argv[1] in ALONE:
        os.environ.update(NOWHERE)
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after the settings are named

    try:
        execute_from_command_line(sys.argv)
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")
    except KeyboardInterrupt:
        sys.exit("rung: interrupted")


if __name__ == "__main__":
    main()
