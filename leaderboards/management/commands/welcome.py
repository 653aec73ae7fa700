"""Prints what a newcomer tries first: the page, a one-time admin link, the demo key, a curl that works as pasted.
Says nothing in production or when bound to more than loopback.
"""

import json
import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import reverse

from config import entrance
from players import lookups
from players.models import Game
from players.scopes import Scope
from players.services import key_create


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        if not entrance.offered():
            return
        origin = f"http://127.0.0.1:{settings.PORT}"
        self.stdout.write(f"  Page      {origin}{reverse('home')}")
        self.stdout.write(f"  Admin     {entrance.new_link(origin)}   (signs in once, within the hour)")
        self.stdout.write(f"  API       {origin}{reverse('docs')}")
        game = Game.objects.filter(slug="demo").first()
        if game is not None:
            key = demo_key(game)
            self.stdout.write(f"  Demo key  {key}")
            self.stdout.write(f"  Board     {origin}/v1/games/demo/modes/arcade/leaderboards/daily")
            self.stdout.write(f"\n  Try it:\n{_curl(origin, key)}")


def demo_key(game: Game) -> str:
    """The same key on every start, kept beside the other secrets; a new one when it was revoked."""
    kept = settings.HOME.path / "demo_key"
    text = kept.read_text().strip() if kept.exists() else ""
    if text and lookups.key(text) is not None:
        return text
    _, text = key_create(game=game, scopes=list(Scope), label="demo key of make up")
    with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "\n")
    return text


def _curl(origin: str, key: str) -> str:
    arcade = f"{origin}/v1/games/demo/modes/arcade"
    body = json.dumps({"player_id": "you", "score": 123456})
    return (
        f"curl -sS -X POST {arcade}/scores \\\n"
        f"  -H 'Authorization: Bearer {key}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{body}'"
    )
