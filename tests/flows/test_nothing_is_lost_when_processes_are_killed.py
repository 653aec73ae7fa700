"""Every process killed with -9 under a stream of writes: each acknowledged score counts once, without any hand.

`RUNG_KILLS=60` kills as many; `RUNG_SEED` takes the order and the pauses of a run that failed, which names its seed.
"""

import itertools
import json
import os
import random
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from config.embedded.ports import free_port
from tests.embedded.processes_of import wait_until
from tests.whole import Rung

KILLS = int(os.environ.get("RUNG_KILLS", "6"))
SEED = os.environ.get("RUNG_SEED") or secrets.token_hex(4)
pytestmark = pytest.mark.timeout(240 + 15 * KILLS)
GAME = "/v1/games/arena"
CONFIG = """
[games.arena.modes.total]
aggregation = "sum"
min_score = 0
max_score = 100
max_total = 100000000
dimensions = ["country"]
[games.arena.modes.solo]
min_score = 0
max_score = 1000
dimensions = ["country"]
"""
VICTIMS = ("web", "worker", "worker", "valkey", "postgres", "beat")
PLAYERS = 7
ITEMS = 50
Told = tuple[str, str, str, int]  # attempt, mode, player, score
Boards = dict[tuple[str, str, str], dict[str, int]]  # mode, window, scope: player, score


class Writer(threading.Thread):
    """Sends until it is acknowledged, then the next: as a game server does."""

    def __init__(self, number: int, origin: str, key: str) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.client = httpx.Client(base_url=origin, headers={"Authorization": f"Bearer {key}"}, timeout=5)
        self.answers: Counter[object] = Counter()
        self.acknowledged: list[Told] = []
        self.stop = threading.Event()

    def run(self) -> None:
        with self.client:
            for count in itertools.count():
                if self.stop.is_set():
                    return
                self.write(count)

    def write(self, count: int) -> None:
        """One in each mode; one attempt is one mode's."""
        for mode in ("total", "solo"):
            attempt, player, score = self.attempt(mode, count)
            body = {"player_id": player, "attempt_id": attempt, "score": score}
            self.send("POST", f"{GAME}/modes/{mode}/scores", body)
            self.acknowledged.append((attempt, mode, player, score))

    def attempt(self, mode: str, count: int) -> tuple[str, str, int]:
        number = (self.number << 64) + count + (1 << 100 if mode == "solo" else 0)
        return str(UUID(int=number)), f"p-{count % PLAYERS}", count % 90

    def send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        while True:
            try:
                answer = self.client.request(method, path, json=body)
            except httpx.HTTPError as error:
                self.answers[type(error).__name__] += 1
            else:
                self.answers[answer.status_code] += 1
                assert answer.status_code in (200, 201, 202, 503), answer.text
                if answer.status_code != 503:
                    return answer.json()
            time.sleep(0.05)


class BatchWriter(Writer):
    def write(self, count: int) -> None:
        told: list[Told] = []
        for number in range(count * ITEMS, (count + 1) * ITEMS):
            mode = ("total", "solo")[number % 2]
            attempt, player, score = self.attempt(mode, number)
            told.append((attempt, mode, player, score))
        names = ("attempt_id", "mode", "player_id", "score")
        answer = self.send("POST", f"{GAME}/scores", {"scores": [dict(zip(names, one, strict=True)) for one in told]})
        assert (answer["accepted"] + answer["duplicates"], answer["rejected"]) == (ITEMS, 0), answer
        self.acknowledged += told
        time.sleep(0.05)


class Mover(Writer):
    """Players move from one country to the other and back."""

    def __init__(self, number: int, origin: str, key: str) -> None:
        super().__init__(number, origin, key)
        self.countries: dict[str, str] = {}

    def write(self, count: int) -> None:
        player, country = f"p-{count % PLAYERS}", ("DE", "FR")[count // PLAYERS % 2]
        self.send("PUT", f"{GAME}/players/{player}", {"country": country})
        self.countries[player] = country
        time.sleep(0.1)


def test_each_acknowledged_score_counts_once_whoever_dies(tmp_path: Path) -> None:
    print(f"RUNG_SEED={SEED}")  # noqa: T201 - pytest shows it where the test fails
    rung = Rung(tmp_path / "home", free_port()).wait_until_ready()
    try:
        key, origin = _game(rung, tmp_path), f"http://127.0.0.1:{rung.port}"
        mover = Mover(4, origin, key)
        writers = [Writer(1, origin, key), Writer(2, origin, key), BatchWriter(3, origin, key), mover]
        for writer in writers:
            writer.start()
        for victim, pause in _order(random.Random(SEED)):  # noqa: S311 - moments, not secrets
            time.sleep(pause)
            _kill(rung, victim)
        wait_until(rung.is_ready, seconds=90)
        wait_until(lambda: len(mover.countries) == PLAYERS, seconds=60)
        for writer in writers:
            writer.stop.set()
        for writer in writers:
            writer.join(timeout=60)
            assert not writer.is_alive()
        told = [one for writer in writers for one in writer.acknowledged]
        print(len(told), [writer.answers for writer in writers])  # noqa: T201 - as above
        assert all(writer.acknowledged for writer in writers if writer is not mover)
        logged = _logged(rung)
        assert sorted(one[:4] for one in logged) == sorted(told)
        _settled(rung, _boards(logged, mover.countries))
    finally:
        rung.end(signal.SIGINT)


def _order(chance: random.Random) -> Iterator[tuple[str, float]]:
    """Each in its turn, the turns mixed."""
    turns = itertools.chain.from_iterable(chance.sample(VICTIMS, len(VICTIMS)) for _ in itertools.count())
    return ((victim, chance.uniform(0.3, 3)) for victim in itertools.islice(turns, KILLS))


def _game(rung: Rung, folder: Path) -> str:
    (folder / "arena.toml").write_text(CONFIG)
    rung.manage("apply_config", str(folder / "arena.toml"))
    return rung.manage("create_key", "arena").strip()


def _kill(rung: Rung, victim: str) -> None:
    try:
        os.kill(rung.pid_of(victim), signal.SIGKILL)
    except (OSError, ValueError, json.JSONDecodeError):
        return  # it is just being started again: dead enough


def _logged(rung: Rung) -> list[tuple[str, str, str, int, datetime]]:
    with rung.database() as connection:
        rows = connection.execute(
            "SELECT a.attempt_id::text, m.slug, p.player_id, a.score, a.achieved_at FROM score_attempts a"
            " JOIN leaderboards_mode m ON m.id = a.mode_id JOIN players_player p ON p.id = a.player_id"
        ).fetchall()
    return [(attempt, mode, player, score, at) for attempt, mode, player, score, at in rows]


def _boards(logged: list[tuple[str, str, str, int, datetime]], countries: dict[str, str]) -> Boards:
    """What each board has to show."""
    boards: Boards = {}
    for _, mode, player, score, moment in logged:
        at = moment.astimezone(UTC)
        year, week, _ = at.isocalendar()
        for window in (f"daily:{at:%Y-%m-%d}", f"weekly:{year}-W{week:02}", f"monthly:{at:%Y-%m}", "alltime"):
            for scope in ("global", f"country:{countries[player]}"):
                board = boards.setdefault((mode, window, scope), {})
                before = board.get(player, 0)
                board[player] = before + score if mode == "total" else max(before, score)
    return boards


def _settled(rung: Rung, boards: Boards) -> None:
    shown: Boards = {}

    def all_are_right() -> bool:
        for (mode, window, scope), expected in boards.items():
            _, body = rung.get(f"{GAME}/modes/{mode}/leaderboards/{window}?limit=100&scope={scope}")
            shown[mode, window, scope] = {one["player_id"]: one["score"] for one in body.get("entries", ())}
            if shown[mode, window, scope] != expected:
                return False
        return True

    try:
        wait_until(all_are_right, seconds=90)
    except AssertionError:
        assert shown == boards
