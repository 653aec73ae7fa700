"""What pages are looked at with."""

from django.utils import timezone

from players.models import Game
from tests.factories import make_game, make_mode, make_player


def make_crowded_game() -> Game:
    game = make_game("skyline")
    make_mode(game, "arcade", description="One run, one score.", min_score=0, max_score=1000)
    make_mode(game, "lap", order="asc", ranking="competition", timezone="Europe/Berlin", windows=["weekly", "alltime"])
    make_mode(game, "old", aggregation="sum", active=False)
    make_player(game, display_name="Nova", country="DE", last_seen_at=timezone.now())
    make_player(game, display_name="W" * 64)
    for number in range(12):
        make_player(game, display_name=f"Wanderer number {number}", country="NZ")
    return game
