"""Compares PostgreSQL with the boards, says what differs, and makes it again. A sample; with --all everything."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config import clock
from leaderboards.drain import streams_sweep
from leaderboards.services.housekeeping import standings_remake
from leaderboards.services.reconciling import reconcile_all, reconcile_sample


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="every entry of every board, not a sample")

    def handle(self, *args: Any, **options: Any) -> None:
        now = clock.asked()
        if standings_remake(now=now):
            self.stdout.write("remade    standings that a clock had purged too early, from the log")
            streams_sweep(now=now)
        found = (reconcile_all if options["all"] else reconcile_sample)(now=now)
        for board, entries in sorted(found.differing.items()):
            self.stdout.write(f"differs   {board}: {entries}")
        for what in found.repaired:
            self.stdout.write(f"repaired  {what}")
        if found.misplaced:
            self.stdout.write(f"moved     {found.misplaced} players to where they belong")
        differing = sum(found.differing.values())
        self.stdout.write(f"{found.entries} entries compared, {differing} differed, {found.misplaced} misplaced.")
