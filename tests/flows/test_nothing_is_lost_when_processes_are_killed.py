"""Every process killed with -9 under a stream of writes: each acknowledged score counts once, without any hand."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from config.embedded.home import PROJECT_ROOT
from config.embedded.ports import free_port
from tests.embedded.processes_of import wait_until
from tests.whole import SERVERS_OF_OTHERS, Rung

pytestmark = pytest.mark.timeout(280)
MODE = "/v1/games/arena/modes"
CONFIG = """
[games.arena.modes.total]
aggregation = "sum"
min_score = 0
max_score = 100
max_total = 100000000
[games.arena.modes.solo]
min_score = 0
max_score = 1000
"""
VICTIMS = ("web", "worker", "valkey", "postgres", "worker", "beat", "valkey", "web", "postgres", "worker")
PLAYERS = 7


class Writer(threading.Thread):
    """Sends a score until it is acknowledged, then the next: as a game server does."""

    def __init__(self, number: int, origin: str, key: str) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.client = httpx.Client(base_url=origin, headers={"Authorization": f"Bearer {key}"}, timeout=5)
        self.answers: Counter[object] = Counter()
        self.acknowledged: list[tuple[str, int]] = []
        self.stop = threading.Event()

    def run(self) -> None:
        with self.client:
            self._write()

    def _write(self) -> None:
        for count in itertools.count():
            if self.stop.is_set():
                return
            player, score = f"p-{count % PLAYERS}", count % 90
            attempt = str(UUID(int=(self.number << 64) + count))
            body = {"player_id": player, "attempt_id": attempt, "score": score}
            while not all(self._sent(mode, body) for mode in ("total", "solo")):
                time.sleep(0.05)
            self.acknowledged.append((player, score))

    def _sent(self, mode: str, body: dict[str, object]) -> bool:
        # one attempt is one mode's: the other mode's has an id of its own
        if mode == "solo":
            body = body | {"attempt_id": str(UUID(int=UUID(str(body["attempt_id"])).int + (1 << 100)))}
        try:
            status = self.client.post(f"{MODE}/{mode}/scores", json=body).status_code
        except httpx.HTTPError as error:
            self.answers[type(error).__name__] += 1
            return False
        self.answers[status] += 1
        assert status in (200, 202, 503), status
        return status != 503


def test_each_acknowledged_score_counts_once_whoever_dies(tmp_path: Path) -> None:
    rung = Rung(tmp_path / "home", free_port()).wait_until_ready()
    try:
        key = _game(rung, tmp_path)
        writers = [Writer(number, f"http://127.0.0.1:{rung.port}", key) for number in (1, 2)]
        for writer in writers:
            writer.start()
        chance = random.Random(7)  # noqa: S311 - moments, not secrets
        for victim in VICTIMS:
            time.sleep(chance.uniform(0.3, 4))
            _kill(rung, victim)
        wait_until(rung.is_ready, seconds=90)
        for writer in writers:
            writer.stop.set()
        for writer in writers:
            writer.join(timeout=60)
            assert not writer.is_alive()
        told = [one for writer in writers for one in writer.acknowledged]
        assert len(told) > 50, [writer.answers for writer in writers]
        _settled(rung, key, told)
        assert _logged(rung) == 2 * len(told)
    finally:
        rung.end(signal.SIGINT)


def _game(rung: Rung, folder: Path) -> str:
    (folder / "arena.toml").write_text(CONFIG)
    _manage(rung, "apply_config", str(folder / "arena.toml"))
    return _manage(rung, "create_key", "arena").strip()


def _manage(rung: Rung, *arguments: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in SERVERS_OF_OTHERS}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT_ROOT,
        env=env | {"RUNG_HOME": str(rung.folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def _kill(rung: Rung, victim: str) -> None:
    try:
        os.kill(rung.pid_of(victim), signal.SIGKILL)
    except (OSError, ValueError, json.JSONDecodeError):
        return  # it is just being started again: dead enough


def _settled(rung: Rung, key: str, told: list[tuple[str, int]]) -> None:
    totals: Counter[str] = Counter()
    best: dict[str, int] = {}
    for player, score in told:
        totals[player] += score
        best[player] = max(best.get(player, 0), score)
    for mode, expected in (("total", dict(totals)), ("solo", best)):

        def board(mode: str = mode) -> dict[str, int]:
            _, body = rung.get(f"{MODE}/{mode}/leaderboards/alltime?limit=100")
            return {entry["player_id"]: entry["score"] for entry in body.get("entries", ())}

        wait_until(lambda board=board, expected=expected: board() == expected, seconds=90)  # type: ignore[misc]


def _logged(rung: Rung) -> int:
    with rung.database() as connection:
        row = connection.execute(
            "SELECT count(*), count(DISTINCT (player_id, attempt_id)) FROM score_attempts"
        ).fetchone()
    assert row is not None
    assert row[0] == row[1]
    return int(row[0])
