"""Makes boards again from PostgreSQL, while traffic goes on: all of them, or those of a game or of a mode."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import audit, clock
from config.errors import DomainError
from leaderboards.drain import stream_drain, streams_sweep
from leaderboards.models import Mode, Standing
from leaderboards.services.corrections import standings_retell
from leaderboards.services.housekeeping import standings_remake
from leaderboards.services.rebuilding import mode_rebuild, mode_tidy

GRACE = 2.0  # seconds that readers on their way still find the boards they began with


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--game", help="only this game's")
        parser.add_argument("--mode", help="only this mode's")
        parser.add_argument("--window", help="the mode's boards change together, so all its windows are made again")

        parser.add_argument(
            "--from-log", action="store_true", help="count every attempt of the log anew first: slower, and sure"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        asked = {"game__slug": options["game"], "slug": options["mode"]}
        found = Mode.objects.select_related("game").filter(**{name: value for name, value in asked.items() if value})
        if not found and (options["game"] or options["mode"]):
            raise CommandError("There is no such mode.")
        found.filter(first_score_at__isnull=True).exclude(ranking="dense").update(shards=settings.SHARDS)
        if standings_remake(now=clock.asked()):
            streams_sweep(now=clock.asked())
        for mode in found.filter(first_score_at__isnull=False):
            if options["from_log"]:
                told = standings_retell(mode=mode)
                self.stdout.write(f"{mode.game.slug}/{mode.slug}: {told:,} players are being told anew from the log.")
                for shard in range(mode.shards):
                    stream_drain(mode_id=mode.pk, shard=shard, now=clock.asked())
            self._rebuild(mode)
        self.stdout.write("Done.")

    def _rebuild(self, mode: Mode) -> None:
        bar = Bar(self, f"{mode.game.slug}/{mode.slug}", Standing.objects.filter(mode=mode).count())
        shards = mode.shards
        try:
            generation = mode_rebuild(mode=mode, now=clock.asked(), shards=settings.SHARDS, progress=bar.add)
        except DomainError as error:
            raise CommandError(error.detail) from None
        time.sleep(GRACE)
        mode_tidy(mode=mode, shards=shards)
        audit.record(
            verb="boards.rebuild",
            who=audit.by_command("rebuild_boards"),
            about=mode,
            before={"shards": shards, "generation": generation - 1},
            after={"shards": mode.shards, "generation": generation},
        )
        over = f", over {mode.shards} instead of {shards} shards" if mode.shards != shards else ""
        self.stdout.write(f"{bar.title}: {bar.done:,} entries, generation {generation}{over}.")


class Bar:
    """One line on a terminal; elsewhere nothing, so that a log stays readable. A standing is on several boards."""

    def __init__(self, command: BaseCommand, title: str, standings: int) -> None:
        self.command, self.title, self.standings, self.done = command, title, standings, 0

    def add(self, entries: int) -> None:
        self.done += entries
        if self.command.stderr.isatty():
            line = f"\r{self.title}: {self.done:,} entries so far, from {self.standings:,} standings"
            self.command.stderr.write(line, ending="")
            self.command.stderr.flush()
