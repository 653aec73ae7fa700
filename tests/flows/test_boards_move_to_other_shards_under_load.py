"""The number of shards is changed and changed again while scores arrive and boards are read: nobody notices."""

import time
from pathlib import Path

import pytest
from django.utils import timezone

from leaderboards.models import Mode, Stamp
from leaderboards.services.rebuilding import mode_rebuild, mode_tidy
from tests.traffic import Traffic, traffic

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("wherever_boards_are")]


def _spread(shards: int) -> None:
    for mode in Mode.objects.all():
        before = mode.shards
        mode_rebuild(mode=mode, shards=shards, now=timezone.now())
        assert mode.shards == shards
        time.sleep(0.5)  # readers on their way
        mode_tidy(mode=mode, shards=before)


def _wrote_and_read(scene: Traffic) -> None:
    before = scene.answers.copy()
    deadline = time.monotonic() + 90
    while scene.answers["write 202"] < before["write 202"] + 10 or scene.answers["read 200"] < before["read 200"] + 10:
        assert time.monotonic() < deadline, scene.answers
        time.sleep(0.05)


def test_every_score_is_on_the_boards_and_no_reader_saw_a_wrong_rank(tmp_path: Path) -> None:
    with traffic(tmp_path, shards=1) as scene:
        with scene.flowing():
            for shards in (4, 2):
                _wrote_and_read(scene)
                _spread(shards)
            _wrote_and_read(scene)
        print(scene.answers)  # noqa: T201 - pytest shows it where the test fails
        assert not scene.answers["write 503"]
        assert all(seen == sorted(seen) for seen in scene.versions.values())
        scene.settled()
        assert Stamp.objects.filter(shard=1).exists()  # once settled: until then one stream after another has its turn
