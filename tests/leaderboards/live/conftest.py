"""A worker that announces, a game with a mode and a way to play it."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from leaderboards.models import Mode
from tests import live, sockets
from tests.factories import make_game, make_key, make_mode
from tests.live import Web

Play = Callable[..., None]


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    with sockets.working():
        yield


@pytest.fixture
def solo(transactional_db: None) -> Mode:
    return make_mode(make_game("arena"), min_score=0, max_score=1_000_000)


@pytest.fixture
def play(web: Web, solo: Mode) -> Iterator[Play]:
    """Scores by player_id, through the API."""
    credential = {"Authorization": f"Bearer {make_key(solo.game)}"}
    with httpx.Client(base_url=f"{web.origin}/v1/games/arena", headers=credential, timeout=20) as client:

        def send(**scores: int) -> None:
            items: list[Any] = [{"mode": "solo", "player_id": one, "score": score} for one, score in scores.items()]
            answer = client.post("scores", json={"scores": items})
            assert answer.json()["accepted"] == len(items), answer.text

        yield send


@pytest.fixture(scope="session")
def _strict_process(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    strict = {"RUNG_SLOW_SOCKET_SECONDS": "1", "RUNG_SOCKETS_PER_ADDRESS": "3", "RUNG_SOCKETS_PER_PLAYER": "1"}
    with live.web(tmp_path_factory.mktemp("strict"), RUNG_WATCH_BOARDS="0", **strict) as running:
        yield running


@pytest.fixture
def strict(_strict_process: Web, transactional_db: None) -> Web:
    """Another web process, with little patience."""
    return _strict_process
