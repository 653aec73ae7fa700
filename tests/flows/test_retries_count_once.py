"""The same attempt at once, through one and many, in a batch of thousands, after the boards lost everything or Rung
was started anew: counted once, in a sum too.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.conf import settings
from django.db import connection, transaction

from config import valkey
from leaderboards.models import Mode
from tests import live
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.live import Web

TIMES = 100


@pytest.fixture
def solo(web: Web) -> Mode:
    game = make_game()
    return make_mode(game, aggregation="sum", min_score=0, max_score=1000, max_total=10**9)


class Client:
    """One that retries as if nobody had answered."""

    def __init__(self, web: Web, mode: Mode) -> None:
        self.mode, self.game = mode, f"{web.origin}/v1/games/{mode.game.slug}"
        self.http = httpx.Client(headers={"Authorization": f"Bearer {make_key(mode.game)}"}, timeout=30)

    def one(self, **score: object) -> httpx.Response:
        return self.http.post(f"{self.game}/modes/solo/scores", json=score)

    def many(self, scores: list[dict[str, object]]) -> httpx.Response:
        return self.http.post(f"{self.game}/scores", json={"scores": scores})

    def total(self, player: str) -> object:
        drain(self.mode)
        address = f"{self.game}/modes/solo/leaderboards/alltime/players/{player}"
        return self.http.get(address).json()["score"]


@pytest.fixture
def client(web: Web, solo: Mode) -> Iterator[Client]:
    client = Client(web, solo)
    with client.http:
        yield client


def test_the_same_attempt_at_once_through_one_counts_once(client: Client) -> None:
    score = {"player_id": "p-1", "score": 5, "attempt_id": str(uuid4())}
    with ThreadPoolExecutor(TIMES) as pool:
        answers = list(pool.map(lambda _: client.one(**score), range(TIMES)))
    assert Counter(answer.status_code for answer in answers) == {202: 1, 200: TIMES - 1}
    assert client.total("p-1") == 5
    other = client.one(**score | {"score": 6})
    assert (other.status_code, other.json()["code"]) == (409, "attempt_conflict")
    assert client.total("p-1") == 5


def test_the_same_batch_at_once_counts_once(client: Client) -> None:
    scores: list[dict[str, object]] = [
        {"mode": "solo", "player_id": f"p-{number % 5}", "score": 3, "attempt_id": str(uuid4())} for number in range(20)
    ]
    with ThreadPoolExecutor(TIMES) as pool:
        answers = list(
            pool.map(lambda number: client.many(scores[number % 20 :] + scores[: number % 20]), range(TIMES))
        )
    told = [answer.json() for answer in answers]
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert sum(one["accepted"] for one in told) == 20
    assert sum(one["duplicates"] for one in told) == 20 * (TIMES - 1)
    assert [client.total(f"p-{number}") for number in range(5)] == [12] * 5
    changed = client.many([scores[0] | {"score": 4}, scores[1]]).json()
    assert (changed["duplicates"], [(one["index"], one["code"]) for one in changed["errors"]]) == (
        1,
        [(0, "attempt_conflict")],
    )


def test_an_attempt_sent_through_one_and_through_many_counts_once(client: Client) -> None:
    score: dict[str, object] = {"player_id": "p-1", "score": 5, "attempt_id": str(uuid4())}

    def send(number: int) -> httpx.Response:
        return client.one(**score) if number % 2 else client.many([score | {"mode": "solo"}])

    with ThreadPoolExecutor(TIMES) as pool:
        answers = list(pool.map(send, range(TIMES)))
    ones, batches = answers[1::2], [answer.json() for answer in answers[::2]]
    assert {answer.status_code for answer in answers} == {200, 202}
    new = sum(answer.status_code == 202 for answer in ones) + sum(batch["accepted"] for batch in batches)
    again = sum(answer.json()["duplicate"] for answer in ones) + sum(batch["duplicates"] for batch in batches)
    assert (new, again) == (1, TIMES - 1)
    assert client.total("p-1") == 5


@contextmanager
def _nobody_writes_to_the_log(*, until: int) -> Iterator[None]:
    """So many callers stand before it, and are let go together; fewer if they take long to come."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE score_attempts IN SHARE MODE")
        yield
        deadline, waiting = time.monotonic() + 20, 0
        while waiting < until and time.monotonic() < deadline:
            time.sleep(0.01)
            cursor.execute(
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                " WHERE mode = 'RowExclusiveLock' AND NOT granted AND datname = current_database()"
            )
            waiting = cursor.fetchone()[0]


def test_a_batch_of_thousands_at_once_each_in_another_order_counts_once(client: Client) -> None:
    scores: list[dict[str, object]] = [
        {"mode": "solo", "player_id": f"p-{n % 1000}", "score": 1 + n // 1000, "attempt_id": str(uuid4())}
        for n in range(5000)
    ]
    client.many([scores[0] | {"player_id": "first"}])  # the day's partition is there
    orders = [random.Random(number).sample(scores, 5000) for number in range(4)]  # noqa: S311 - the same ones each time
    with ThreadPoolExecutor(4) as pool:
        with _nobody_writes_to_the_log(until=2):  # as many as one web process writes at a time
            sent = [pool.submit(client.many, order) for order in orders]
        answers = [one.result() for one in sent]
    assert [answer.status_code for answer in answers] == [202] * 4
    told = [answer.json() for answer in answers]
    assert sum(one["accepted"] for one in told) == 5000
    assert sum(one["duplicates"] for one in told) == 15_000
    assert [one["errors"] for one in told] == [[]] * 4
    drain(client.mode)
    board = client.http.get(f"{client.game}/modes/solo/leaderboards/alltime?limit=1000").json()
    assert board["total"] == 1001
    assert [entry["score"] for entry in board["entries"]] == [1 + 2 + 3 + 4 + 5] * 1000


def test_a_retry_counts_once_after_rung_was_started_anew(web: Web, solo: Mode, tmp_path: Path) -> None:
    score = {"player_id": "p-1", "score": 5, "attempt_id": str(uuid4())}
    codes = []
    for _ in range(2):
        with live.web(tmp_path) as started:
            client = Client(started, solo)
            with client.http:
                codes.append((client.one(**score).status_code, client.total("p-1")))
    assert codes == [(202, 5), (200, 5)]


def test_a_retry_counts_once_after_the_boards_lost_everything(client: Client) -> None:
    score = {"player_id": "p-1", "score": 5, "attempt_id": str(uuid4())}
    assert client.one(**score).status_code == 202
    assert client.total("p-1") == 5
    valkey.client(settings.VALKEY_URL).flushdb()  # this worker's own
    assert client.one(**score).status_code == 200
    assert client.total("p-1") == 5
    assert client.one(**score | {"attempt_id": str(uuid4())}).status_code == 202
    assert client.total("p-1") == 10
