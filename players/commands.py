"""What the management commands of this floor and those above share."""

from django.core.management.base import CommandError

from players.models import Game


def game_named(slug: str) -> Game:
    game = Game.objects.filter(slug=slug).first()
    if game is None:
        known = ", ".join(Game.objects.order_by("slug").values_list("slug", flat=True)[:10]) or "none yet"
        raise CommandError(f"There is no game {slug!r}. Games here: {known}.")
    return game
