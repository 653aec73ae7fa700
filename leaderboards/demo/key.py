"""The demo's key, the same on every start: kept beside the other secrets of a development install."""

import os

from django.conf import settings

from config import entrance
from config.audit import by_command
from players import lookups
from players.models import Game
from players.scopes import Scope
from players.services import key_create

GAME = "demo"


def demo_key(game: Game) -> str:
    """A new one when it was revoked."""
    if text := demo_key_kept():
        return text
    _, text = key_create(game=game, scopes=list(Scope), label="demo key of make up", who=by_command("welcome"))
    kept = settings.HOME.path / "demo_key"
    with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "\n")
    return text


def demo_key_kept() -> str | None:
    """Where there is one that is good."""
    kept = settings.HOME.path / "demo_key"
    text = kept.read_text().strip() if kept.exists() else ""
    return text if text and lookups.key(text) is not None else None


def demo_at_home(game: str, *, address: str, host: str) -> bool:
    """Whether whoever calls from there may use the demo game as its own: on one's own machine, in development."""
    here = address in entrance.LOOPBACK and host in entrance.LOOPBACK
    return here and game == GAME and settings.DEMO and entrance.offered()
