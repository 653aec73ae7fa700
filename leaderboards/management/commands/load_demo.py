"""Loads the demo game and its players, where they are not there yet."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from config.audit import by_command
from leaderboards import demo, partitions
from leaderboards.demo.people import demo_players
from leaderboards.demo.play import demo_scores
from leaderboards.models import Mode
from leaderboards.services.config_file import config_apply
from leaderboards.services.scores import scores_submit
from players.access import Caller, Kind
from players.lookups import GameRecord
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
        config_apply(declared=tomllib.loads(declared, parse_float=Decimal), who=by_command("load_demo"))
        game = Game.objects.get(slug=GAME)
        people = demo_players(game=game.pk, count=PLAYERS, now=timezone.now())
        Player.objects.bulk_create(people, batch_size=1000)
        partitions.make_ahead(partitions.today())
        scores = self._play(game)
        self.stdout.write(f"Loaded {game.title}: 3 modes, {PLAYERS:,} players, {scores:,} scores.")

    def _play(self, game: Game) -> int:
        now, played = timezone.now(), 0
        record = GameRecord(game.pk, game.slug, game.title, game.public)
        caller = Caller(Kind.KEY, game=game.slug)
        for mode in Mode.objects.filter(game=game).exclude(checks__has_key="replay"):  # these want to be played
            items = list(demo_scores(mode=mode, players=PLAYERS, now=now))
            played += len(scores_submit(game=record, caller=caller, items=items))
        return played
