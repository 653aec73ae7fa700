"""Runs today's checks over a mode's log and opens cases for what they find. No score is changed by it."""

from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from anticheat.commands import mode_named, moment
from anticheat.services.rejudging import Rejudged, mode_rejudge
from config import audit


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", required=True, help="the mode's slug")
        parser.add_argument("--game", help="of this game, where several have such a mode")
        parser.add_argument("--since", required=True, type=moment, help="a day, or a moment with its offset")
        parser.add_argument("--until", type=moment, help="not from then on (now)")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be found")

    def handle(self, *args: Any, **options: Any) -> None:
        mode = mode_named(options["mode"], options["game"])
        since, until, dry_run = options["since"], options["until"] or timezone.now(), options["dry_run"]
        if until <= since:
            raise CommandError("--until is not after --since.")
        found = mode_rejudge(mode=mode, since=since, until=until, dry_run=dry_run, progress=self._show)
        if not dry_run:
            after = {"since": since, "until": until, "findings": found.findings, "players": found.players}
            audit.record(verb="mode.rejudge", who=audit.by_command("rejudge"), about=mode, after=after)
        self._tell(found, dry_run=dry_run)

    def _show(self, day: date, attempts: int, findings: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{day}: {attempts:,} attempts, {findings:,} findings", ending="")
            self.stderr.flush()

    def _tell(self, found: Rejudged, *, dry_run: bool) -> None:
        self.stdout.write(f"{'check':<14}{'findings':>10}{'new':>10}{'players':>10}")
        for name, said in sorted(found.said.items()):
            self.stdout.write(f"{name:<14}{said.findings:>10,}{said.new:>10,}{len(said.players):>10,}")
        end = "Nothing was written." if dry_run else "Cases are open for what is new."
        self.stdout.write(f"{found.attempts:,} attempts looked at, {found.players:,} players found. {end}")
