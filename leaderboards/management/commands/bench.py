"""Measures Rung on servers of its own; the last line of output is one JSON object. The same as `make bench`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bench.__main__ import add_arguments, run


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if failures := run(size=options["size"], players=options["players"], only=options["only"]):
            raise CommandError(f"{failures} requests failed.")
