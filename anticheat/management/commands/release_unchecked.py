"""Lets a mode's scores count that are held because a check could not be made, and for nothing else."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from anticheat.commands import mode_named, moment
from anticheat.services.unchecked import unchecked_count, unchecked_release
from config.audit import by_command


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", required=True, help="the mode's slug")
        parser.add_argument("--game", help="of this game, where several have such a mode")
        parser.add_argument("--since", required=True, type=moment, help="a day, or a moment with its offset")
        parser.add_argument("--until", type=moment, help="not from then on (now)")
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        mode, since = mode_named(options["mode"], options["game"]), options["since"]
        until = options["until"] or timezone.now()
        if until <= since:
            raise CommandError("--until is not after --since.")
        if options["dry_run"]:
            held = unchecked_count(mode=mode, since=since, until=until)
            self.stdout.write(f"{held:,} attempts would count. Nothing was written.")
            return
        who = by_command("release_unchecked")
        done = unchecked_release(mode=mode, since=since, until=until, who=who, progress=self._show)
        self.stdout.write(f"{done:,} attempts count now.")

    def _show(self, done: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done:,} attempts so far", ending="")
            self.stderr.flush()
