"""The boards' server dies under a stream of writes: sentinels make its replica the primary, and no score is lost."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from pytest_django import Settings

from config import valkey
from leaderboards.models import Mode
from tests.cluster import wait
from tests.sentinels import DATABASE, PASSWORD, Server, Watched, watched
from tests.traffic import Traffic, traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def under_sentinels(tmp_path: Path, settings: Settings) -> Iterator[Watched]:
    with watched(tmp_path / "watched") as running:
        settings.VALKEY_URL = running.url
        yield running
        valkey.client(running.url).flushdb()
        settings.VALKEY_URL = settings.CACHE_URL  # nobody is there to be emptied any more
        valkey.client.cache_clear()


def _serving(scene: Traffic, successor: Server) -> None:
    wait(successor.is_primary)
    before = scene.answers["read 200"]
    wait(lambda: scene.answers["read 200"] > before + 20)


def _somebody_writes(primary: Server, mode: str) -> None:
    """Over what stands there, so that a board has as many entries as before."""
    with redis.Redis(port=primary.port, password=PASSWORD, db=DATABASE) as hands:
        ours = hands.keys(f"lb:{{{Mode.objects.get(slug=mode).pk}.*:b:*|global")
        for board in ours:
            member = hands.zrange(board, 0, 0)[0]
            hands.zadd(board, {member: hands.zrange(board, -1, -1, withscores=True)[0][1] + 1})
        assert ours


def test_every_acknowledged_score_is_on_the_boards_again_by_itself(under_sentinels: Watched, tmp_path: Path) -> None:
    with traffic(tmp_path, shards=2) as scene:
        victim, successor = under_sentinels.primary(), under_sentinels.replica()
        with scene.flowing():
            time.sleep(0.5)
            with successor.behind():  # so that what the primary was told last is surely lost
                time.sleep(0.5)
                victim.kill()
            _serving(scene, successor)
            victim.start()
            wait(under_sentinels.is_whole)
        print(scene.answers)  # noqa: T201 - pytest shows it where the test fails
        scene.settled()


def test_a_primary_that_was_silent_is_left_and_what_hands_do_to_the_next_one_is_heard(
    under_sentinels: Watched, tmp_path: Path
) -> None:
    with traffic(tmp_path, shards=2) as scene:
        silent, successor = under_sentinels.primary(), under_sentinels.replica()
        with scene.flowing(), silent.silent():
            _serving(scene, successor)
        wait(under_sentinels.is_whole)
        scene.settled()
        _somebody_writes(successor, "solo")
        assert under_sentinels.primary() is successor
        scene.settled()


def test_an_answer_that_nobody_waited_for_is_not_given_to_whoever_asks_next(under_sentinels: Watched) -> None:
    client = valkey.client(under_sentinels.url)
    client.set("mine", 1)
    with pytest.raises(redis.TimeoutError):
        client.blpop("nothing", valkey.TIMEOUT + 60)
    assert client.get("mine") == b"1"
