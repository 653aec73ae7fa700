"""Doorbells: a real worker on a real broker hears them, and its lines carry the id of the request that rang."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from kombu import pools

from config import heartbeat
from config.celery import app
from config.tasks import heartbeat_note
from players.signals import player_changed
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_player
from tests.live import ROOT


@pytest.fixture(autouse=True)
def _fresh_connections() -> Iterator[None]:
    """The broker is emptied after each test, and a kept connection would think its queues still declared."""
    yield
    pools.reset()
    app._after_fork()  # noqa: SLF001 - Celery offers no other way to begin with new connections


@contextmanager
def _worker(log: Path, **environment: str) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "solo", "--without-mingle"]
    env = os.environ | {"VALKEY_URL": settings.VALKEY_URL} | environment
    with log.open("wb") as written:
        process = subprocess.Popen([*command, "--without-gossip"], cwd=ROOT, env=env, stdout=written, stderr=written)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_the_tasks_of_the_house_are_known_to_whoever_only_sends() -> None:
    app.loader.import_default_modules()
    assert "config.tasks.heartbeat" in app.tasks


def test_beat_ticks_the_heartbeat_in_utc_and_the_broker_is_a_database_of_its_own() -> None:
    assert app.conf.beat_schedule["heartbeat"]["task"] == heartbeat_note.name
    assert app.conf.timezone == "UTC"
    assert app.conf.broker_url == settings.BROKER_URL
    assert len({settings.VALKEY_URL, settings.BROKER_URL, settings.CHANNELS_URL, settings.CACHE_URL}) == 4


def test_a_worker_does_what_is_rung_for_and_shows_that_it_lives(tmp_path: Path) -> None:
    assert heartbeat.age("beat") is None
    with _worker(tmp_path / "log"):
        heartbeat_note.delay()
        assert _eventually(lambda: heartbeat.age("beat") is not None), (tmp_path / "log").read_text()
    assert heartbeat.age("worker") is not None


def test_the_id_of_a_request_goes_with_the_task_that_it_rings_for_into_the_workers_log(
    api: ApiClient, tmp_path: Path
) -> None:
    """The heartbeat fails here, for want of a cache: what fails is what is logged."""

    def ring(**_: Any) -> None:
        heartbeat_note.delay()

    game = make_game("arena")
    make_player(game, "p-1")
    player_changed.connect(ring, weak=False)
    try:
        answer = api.put(
            "/v1/games/arena/players/p-1",
            credential=make_key(game),
            headers={"X-Request-Id": "who-rang"},
            json={"display_name": "Nova"},
        )
    finally:
        player_changed.disconnect(ring)
    assert answer.status_code == 200
    log = tmp_path / "log"

    def lines() -> list[str]:
        return [line for line in log.read_text().splitlines() if "who-rang" in line]

    with _worker(log, CACHE_URL="valkey://127.0.0.1:1/0", BROKER_URL=settings.BROKER_URL):
        assert _eventually(lambda: bool(lines())), log.read_text()
        assert "config.tasks.heartbeat" in lines()[0]


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen
