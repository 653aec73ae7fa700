"""Where more calls wait than may, the next is told so at once, and whoever asks for something else is not kept."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from django.db import connection, transaction

from tests.client import told
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.live import web

SOLO = "/v1/games/{}/modes/solo"
SENT, KEPT = 12, 6  # a game has room for two calls to wait, and each of two threads takes at most as many along
pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def _nobody_writes() -> Iterator[None]:
    """The log is held, so that whoever writes a score waits."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE score_attempts IN EXCLUSIVE MODE")
        yield


def test_the_next_call_is_told_to_come_again_and_reads_go_on(tmp_path: Path) -> None:
    arena, quiet = make_game("arena"), make_game("quiet")
    modes = [make_mode(game, min_score=0, max_score=1000) for game in (arena, quiet)]
    keys = {game.slug: {"Authorization": f"Bearer {make_key(game)}"} for game in (arena, quiet)}

    with (
        web(tmp_path, RUNG_FAST_LANE_WAITING="4") as running,
        httpx.Client(base_url=running.origin, timeout=60) as client,
    ):

        def send(game: str, number: int) -> httpx.Response:
            body = {"player_id": f"p-{number}", "attempt_id": str(UUID(int=number + 1)), "score": number}
            return client.post(f"{SOLO.format(game)}/scores", headers=keys[game], json=body)

        assert [send("arena", 0).status_code, send("quiet", 0).status_code] == [202, 202]
        for mode in modes:
            drain(mode)
        with ThreadPoolExecutor(16) as callers:
            with _nobody_writes():
                waiting = [callers.submit(send, "arena", number) for number in range(1, SENT + 1)]
                _answered(waiting, least=SENT - KEPT)
                patient = callers.submit(send, "quiet", 1)  # for which there is room
                for address in (SOLO.format("arena") + "/leaderboards/alltime", "/v1/games/arena", "/livez"):
                    assert client.get(address).status_code == 200
                own = client.get(SOLO.format("arena") + "/leaderboards/alltime/players/p-0")
                assert (own.status_code, own.json()["rank"]) == (200, 1)
                assert client.post("/v1/games/arena/scores", headers=keys["arena"], json={}).status_code == 400
                assert not patient.done()
            answers = [one.result(60) for one in waiting]
            assert patient.result(60).status_code == 202
        assert {one.status_code for one in answers} == {202, 503}
        _busy([one for one in answers if one.status_code == 503])  # some may have come late
        assert send("arena", 99).status_code == 202


def _answered(waiting: "list[Future[httpx.Response]]", *, least: int) -> None:
    """While the others wait."""
    deadline = time.monotonic() + 60
    while sum(one.done() for one in waiting) < least and time.monotonic() < deadline:
        time.sleep(0.02)
    done = [one.result() for one in waiting if one.done()]
    assert least <= len(done) < len(waiting)
    _busy(done)


def _busy(refused: list[httpx.Response]) -> None:
    assert {told(one) for one in refused} == {(503, "unavailable")}
    assert {one.json()["detail"] for one in refused} == {"Too many calls are waiting already."}
    assert {one.headers["Retry-After"] for one in refused} == {"1"}
