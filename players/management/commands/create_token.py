"""Prints a player token, or with --attempt a token that vouches for one attempt."""

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from players import names, tokens
from players.commands import game_named


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game", metavar="GAME")
        parser.add_argument("player_id", metavar="PLAYER_ID")
        parser.add_argument("--ttl", type=int, default=3600, help="seconds until it expires (default: %(default)s)")
        parser.add_argument("--attempt", metavar="MODE", help="an attempt token for this mode instead")
        parser.add_argument("--cap", metavar="N", help="the best score that the attempt token vouches for")

    def handle(self, *args: Any, **options: Any) -> None:
        game = game_named(options["game"])
        if not 1 <= options["ttl"] <= tokens.MOST_SECONDS:
            raise CommandError(f"--ttl is from 1 to {tokens.MOST_SECONDS} seconds.")
        try:
            player_id = names.check_player_id(options["player_id"])
        except ValueError as error:
            raise CommandError(str(error)) from None
        common: dict[str, Any] = {"game": game.slug, "player_id": player_id, "secret": game.signing_secret}
        common |= {"now": timezone.now(), "ttl": options["ttl"]}
        if not options["attempt"]:
            if options["cap"] is not None:
                raise CommandError("--cap goes with --attempt MODE.")
            self.stdout.write(tokens.player_token(**common))
            return
        self.stdout.write(tokens.attempt_token(**common, mode=options["attempt"], cap=_cap(options["cap"])))


def _cap(text: str | None) -> str:
    """Kept as text: a JSON number would be a float on the way."""
    try:
        cap = Decimal(text or "")
    except InvalidOperation:
        raise CommandError("--attempt needs --cap N, the best score it vouches for.") from None
    if not cap.is_finite():
        raise CommandError("--cap is a finite number.")
    return str(cap)
