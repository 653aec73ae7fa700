"""Loads the demo game and its players, where they are not there yet."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from leaderboards import demo
from leaderboards.demo.people import demo_players
from leaderboards.services.config_file import config_apply
from players.models import Game, Player

GAME = "demo"
PLAYERS = 3000


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        if Player.objects.filter(game__slug=GAME).exists():
            return
        self.stdout.write("Loading the demo game …")
        declared = (Path(demo.__file__).parent / "demo.toml").read_text(encoding="utf-8")
        config_apply(declared=tomllib.loads(declared, parse_float=Decimal))
        game = Game.objects.get(slug=GAME)
        people = demo_players(game=game.pk, count=PLAYERS, now=timezone.now())
        Player.objects.bulk_create(people, batch_size=1000)
        self.stdout.write(f"Loaded {game.title}: 2 modes, {PLAYERS:,} players.")
