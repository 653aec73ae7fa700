"""A primary of the boards' cluster dies under a stream of writes: its replica takes over, and no score is lost."""

import time
from pathlib import Path

import pytest

from tests.cluster import Cluster, wait
from tests.traffic import traffic

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_acknowledged_score_is_on_the_boards_again_by_itself(on_a_cluster: Cluster, tmp_path: Path) -> None:
    with traffic(tmp_path, shards=4, RUNG_READ_REPLICAS="1") as scene:
        victim = on_a_cluster.primaries()[0]
        with scene.flowing():
            time.sleep(0.5)
            with on_a_cluster.replicas_behind():  # so that what the primary was told last is surely lost
                time.sleep(0.5)
                victim.kill()
            wait(lambda: len(on_a_cluster.primaries()) == 3)
            before = scene.answers["read 200"]
            wait(lambda: scene.answers["read 200"] > before + 20)
            victim.start()
            wait(on_a_cluster.is_whole)
        print(scene.answers)  # noqa: T201 - pytest shows it where the test fails
        scene.settled()
