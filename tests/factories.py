"""Things that tests need, made the way the product makes them."""

import itertools
from typing import Any

from django.utils import timezone

from leaderboards.models import Mode
from leaderboards.services.modes import mode_declare
from leaderboards.wire import ModeDeclaration
from players import tokens
from players.lookups import GameRecord
from players.models import Game, Player
from players.scopes import Scope
from players.services import key_create

_numbers = itertools.count(1)


def make_game(slug: str = "", *, public: bool = True) -> Game:
    slug = slug or f"game-{next(_numbers)}"
    return Game.objects.create(slug=slug, title=slug.title(), public=public)


def record_of(game: Game) -> GameRecord:
    return GameRecord(game.pk, game.slug, game.title, game.public)


def make_key(game: Game, *scopes: Scope) -> str:
    return key_create(game=game, scopes=scopes or list(Scope))[1]


def make_player(game: Game, player_id: str = "", **fields: Any) -> Player:
    player_id = player_id or f"p-{next(_numbers)}"
    return Player.objects.create(game=game, player_id=player_id, **{"display_name": player_id, **fields})


def make_token(game: Game, player_id: str, *, ttl: int = 3600) -> str:
    return tokens.player_token(
        game=game.slug, player_id=player_id, secret=game.signing_secret, now=timezone.now(), ttl=ttl
    )


def make_mode(game: Game, slug: str = "solo", **rules: Any) -> Mode:
    return mode_declare(game=game, slug=slug, wanted=ModeDeclaration(**rules))[0]
