"""The game `arena` that most tests play in: its addresses, and a game server that holds a key of it."""

from typing import Any

import httpx

from tests.client import ApiClient
from tests.factories import make_game, make_key

PLAYER = "/v1/games/arena/players/p-1"
MODE = "/v1/games/arena/modes/solo"


class Arena:
    """Speaks of one player or one mode, unless it is told another address."""

    def __init__(self, api: ApiClient, path: str) -> None:
        self.game = make_game("arena")
        self.key = make_key(self.game)
        self.api = api
        self.path = path

    def put(self, **fields: Any) -> httpx.Response:
        return self.api.put(self.path, credential=self.key, json=fields)

    def get(self, path: str = "", **request: Any) -> httpx.Response:
        return self.api.get(path or self.path, **{"credential": self.key, **request})
