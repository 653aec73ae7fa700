"""Declares games and modes from a TOML file. Running it twice changes nothing; a mistake anywhere changes nothing."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import wire
from config.audit import by_command
from config.errors import DomainError
from leaderboards.services.config_file import config_apply
from leaderboards.services.modes import Change


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE.toml", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            declared = tomllib.loads(options["file"].read_text(encoding="utf-8"), parse_float=Decimal)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['file']} cannot be read: {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise CommandError(f"{options['file']} is not TOML: {error}") from None
        try:
            changes = config_apply(declared=declared, dry_run=options["dry_run"], who=by_command("apply_config"))
        except DomainError as error:
            raise CommandError(f"Nothing was changed. {error.detail}") from None
        for change in changes:
            self._say(change)
        changed = sum(change.outcome != "unchanged" for change in changes)
        verb = "would change" if options["dry_run"] else "changed"
        self.stdout.write(f"{changed} of {len(changes)} {verb}." if changed else "No change.")

    def _say(self, change: Change) -> None:
        self.stdout.write(f"{change.outcome:<9} {change.what}")
        if change.outcome == "changed":
            for name, (before, after) in change.fields.items():
                self.stdout.write(f"            {name}: {_text(before)} → {_text(after)}")
        for warning in change.warnings:
            self.stderr.write(f"warning   {change.what}: {warning}")


def _text(value: object) -> str:
    """Nearly as in the file, and exact."""
    return wire.encode(value).decode()
