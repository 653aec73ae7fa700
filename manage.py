#!/usr/bin/env python
"""Rung's commands: `python manage.py help`."""

import os
import sys

from config.embedded.errors import CannotStart
from config.env import ConfigurationError


def examine() -> None:
    """Only reads the settings: what is wrong with them is one sentence."""
    try:
        import config.settings  # noqa: F401, PLC0415 - reading them is the point
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - after the settings are named

    try:
        execute_from_command_line(sys.argv)
    except (ConfigurationError, CannotStart) as error:
        sys.exit(f"rung: {error}")


if __name__ == "__main__":
    main()
