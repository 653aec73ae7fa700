"""Writes the audit to standard output, oldest first: all of it, or a game's, or what was done in a time."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from anticheat import audit_export
from anticheat.commands import moment
from anticheat.models import AuditEntry
from players.commands import game_named


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since", metavar="T", type=moment, help="from this time on (UTC unless it says otherwise)"
        )
        parser.add_argument("--until", metavar="T", type=moment, help="before this time")
        parser.add_argument("--game", metavar="GAME", help="only what is about this game")
        parser.add_argument("--format", choices=audit_export.FORMATS, default="jsonl", help="default: %(default)s")

    def handle(self, *args: Any, **options: Any) -> None:
        found = AuditEntry.objects.all()
        if options["since"]:
            found = found.filter(at__gte=options["since"])
        if options["until"]:
            found = found.filter(at__lt=options["until"])
        if options["game"]:
            found = found.filter(game=game_named(options["game"]).pk)
        for line in audit_export.lines(found, options["format"]):
            self.stdout.write(line, ending="")
