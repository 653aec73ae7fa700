"""Trains a mode's model of how players play, on the last days of its log; the next `rejudge` uses it."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from anticheat.commands import mode_named, moment
from anticheat.services.training import model_train
from config import audit
from config.errors import DomainError

DAYS = 30


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", required=True, help="the mode's slug")
        parser.add_argument("--game", help="of this game, where several have such a mode")
        parser.add_argument("--since", type=moment, help=f"a day, or a moment with its offset ({DAYS} days ago)")
        parser.add_argument("--until", type=moment, help="not from then on (now)")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        until = options["until"] or now
        since = options["since"] or until - timedelta(days=DAYS)
        mode = mode_named(options["mode"], options["game"])
        try:
            forest = model_train(mode=mode, since=since, until=until, now=now)
        except DomainError as error:
            raise CommandError(error.detail) from None
        after = {"version": forest.version, "players": forest.players, "since": since, "until": until}
        audit.record(verb="model.train", who=audit.by_command("train_model"), about=mode, after=after)
        self.stdout.write(
            f"Version {forest.version}, trained on {forest.players:,} players by {len(forest.features)} features."
        )
