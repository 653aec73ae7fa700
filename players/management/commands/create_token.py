"""Prints a player token, or with --attempt a token that vouches for one attempt, or with --link a sign-in link."""

from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse
from django.utils import timezone

from config import audit
from players import names, tokens
from players.commands import game_named
from players.models import Player


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game", metavar="GAME")
        parser.add_argument("player_id", metavar="PLAYER_ID")
        parser.add_argument("--ttl", type=int, default=3600, help="seconds until it expires (default: %(default)s)")
        parser.add_argument("--attempt", metavar="MODE", help="an attempt token for this mode instead")
        parser.add_argument(
            "--link",
            metavar="ORIGIN",
            nargs="?",
            const=f"http://127.0.0.1:{settings.PORT}",
            help="the link that signs the player in to the pages (default origin: %(const)s)",
        )
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
            text = _linked(tokens.player_token(**common), game.slug, options["link"])
        elif options["link"]:
            raise CommandError("--link signs a player in: it does not go with --attempt.")
        else:
            text = tokens.attempt_token(**common, mode=options["attempt"], cap=_cap(options["cap"]))
        about = Player.objects.filter(game=game, player_id=player_id).first() or game
        audit.record(verb="token.add", who=audit.by_command("create_token"), about=about, after={"ttl": options["ttl"]})
        self.stdout.write(text)


def _linked(token: str, game: str, origin: str | None) -> str:
    return f"{origin.rstrip('/')}{reverse('player-enter', args=[game])}?token={token}" if origin else token


def _cap(text: str | None) -> str:
    """Kept as text: a JSON number would be a float on the way."""
    try:
        cap = Decimal(text or "")
    except InvalidOperation:
        raise CommandError("--attempt needs --cap N, the best score it vouches for.") from None
    if not cap.is_finite():
        raise CommandError("--cap is a finite number.")
    return str(cap)
