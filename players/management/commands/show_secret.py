"""Prints the game's signing secret, with which its own servers sign player and attempt tokens (HS256)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config import audit
from players.commands import game_named


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game", metavar="GAME")

    def handle(self, *args: Any, **options: Any) -> None:
        game = game_named(options["game"])
        audit.record(verb="secret.show", who=audit.by_command("show_secret"), about=game)
        self.stdout.write(game.signing_secret)
