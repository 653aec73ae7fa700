"""Prints what a newcomer tries first: the page, a one-time admin link, a player's link, the demo key, a curl that works
as pasted.
Says nothing in production or when bound to more than loopback.
"""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import reverse
from django.utils import timezone

from config import entrance
from leaderboards.demo.key import GAME, demo_key
from players import tokens
from players.models import Game, Player

_PLAYER = "p-1425"  # who plays both boards of the demo, and well

_SIMULATE = ".venv/bin/python manage.py simulate demo arcade --rate 20 --seconds 600"


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        if not entrance.offered():
            return
        origin = f"http://127.0.0.1:{settings.PORT}"
        self.stdout.write(f"  Page      {origin}{reverse('home')}")
        self.stdout.write(f"  Admin     {entrance.new_link(origin)}   (signs in once, within the hour)")
        self.stdout.write(f"  API       {origin}{reverse('docs')}")
        game = Game.objects.filter(slug=GAME).first()
        if game is not None:
            key = demo_key(game)
            self._player(game, origin)
            self.stdout.write(f"  Demo key  {key}")
            self.stdout.write(f"  Board     {origin}{reverse('board-page', args=[GAME, 'arcade', 'daily'])}")
            self.stdout.write(f"  Play      {_SIMULATE}   (people who play, and some who cheat)")
            self.stdout.write(f"\n  Try it:\n{_curl(origin, key)}")

    def _player(self, game: Game, origin: str) -> None:
        player = Player.objects.filter(game=game, player_id=_PLAYER).first()
        if player is None:
            return
        token = tokens.player_token(
            game=game.slug, player_id=_PLAYER, secret=game.signing_secret, now=timezone.now(), ttl=tokens.MOST_SECONDS
        )
        link = f"{origin}{reverse('player-enter', args=[game.slug])}?token={token}"
        self.stdout.write(f"  Player    {link}   (signs in as {player.display_name}, today)")


def _curl(origin: str, key: str) -> str:
    arcade = f"{origin}/v1/games/demo/modes/arcade"
    body = json.dumps({"player_id": "you", "score": 123456})
    return (
        f"curl -sS -X POST {arcade}/scores \\\n"
        f"  -H 'Authorization: Bearer {key}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{body}'"
    )
