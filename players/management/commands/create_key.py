"""Prints a new API key, and nothing else, on standard output. It cannot be shown again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.audit import by_command
from players.commands import game_named
from players.scopes import Scope
from players.services import key_create


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game", metavar="GAME")
        parser.add_argument("--scopes", default="submit,read,manage,moderate", help="default: %(default)s")
        parser.add_argument("--label", default="", help="what it is for, shown in the admin")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            scopes = Scope.parse(options["scopes"])
        except ValueError as error:
            raise CommandError(str(error)) from None
        game, label = game_named(options["game"]), options["label"][:100]
        _, text = key_create(game=game, scopes=scopes, label=label, who=by_command("create_key"))
        self.stdout.write(text)
