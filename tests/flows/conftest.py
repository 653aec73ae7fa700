"""A game and a key of it, for promises that are kept to any game."""

import pytest

from players.models import Game
from tests.factories import make_game, make_key


@pytest.fixture
def arena(db: None) -> Game:
    return make_game("arena")


@pytest.fixture
def key(arena: Game) -> str:
    return make_key(arena)
