"""However many call at once, a web process holds no more connections to the database than `doctor` reckons with."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.conf import settings
from django.db import connection

from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)


def _held(web: Web) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [web.name])
        held: int = cursor.fetchone()[0]
    return held


def test_as_many_as_it_has_threads(web: Web) -> None:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    board, credential = "modes/solo/leaderboards/alltime", {"Authorization": f"Bearer {make_key(mode.game)}"}
    scores = [{"mode": "solo", "player_id": f"p-{number}", "score": number} for number in range(9)]
    calls = [
        ("POST", "modes/solo/scores", {"player_id": "p-1", "score": 7}),
        ("POST", "scores", {"scores": scores}),
        ("POST", f"{board}/lookup", {"player_ids": ["p-1", "p-2"]}),
        *(("GET", path, None) for path in (board, f"{board}/players/p-1", "players/p-1/attempts", "modes/solo")),
    ]
    with httpx.Client(base_url=f"{web.origin}/v1/games/arena", headers=credential, timeout=20) as client:
        first = client.post("scores", json={"scores": scores})
        assert first.status_code == 202, first.text
        drain(mode)

        def ask(number: int) -> int:
            method, path, body = calls[number % len(calls)]
            return client.request(method, path, json=body).status_code

        with ThreadPoolExecutor(48) as callers:
            assert set(callers.map(ask, range(160))) <= {200, 202}
    assert _held(web) >= 8
    most = settings.WEB_THREADS + settings.LANE_THREADS + settings.LIVE_THREADS
    assert _held(web) <= most
