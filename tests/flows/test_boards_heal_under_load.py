"""Valkey loses or gets things behind our back while scores come in: the boards heal, and no reader sees a wrong rank.

With RUNG_HEAL_PLAYERS=100000 it is the measurement of docs/operating.md: how long each harm lasts.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from config import env, valkey
from config.embedded.home import Home
from config.embedded.ports import free_port
from tests.whole import Rung

pytestmark = [pytest.mark.timeout(280), pytest.mark.xdist_group("healing")]  # one scene for all
PLAYERS = int(os.environ.get("RUNG_HEAL_PLAYERS", "1500"))
SENTINELS = 20  # who stand above all others and never move: their ranks are known at every moment
PATIENCE = 60
CONFIG = """
[games.arena.modes.solo]
min_score = 0
max_score = 1000000
"""
SOLO = "/v1/games/arena/modes/solo"


class Background(threading.Thread):
    def __init__(self, act: Callable[[], None], pause: float) -> None:
        super().__init__(daemon=True)
        self.act, self.pause, self.stop = act, pause, threading.Event()

    def run(self) -> None:
        while not self.stop.wait(self.pause):
            try:
                self.act()
            except httpx.HTTPError:
                continue


class Scene:
    """A whole Rung with players on its boards, somebody who writes and somebody who reads."""

    def __init__(self, rung: Rung, key: str) -> None:
        self.rung = rung
        origin = f"http://127.0.0.1:{rung.port}"
        self.client = httpx.Client(base_url=origin, headers={"Authorization": f"Bearer {key}"}, timeout=30)
        self.valkey = valkey.client(env.valkey(Home(rung.folder).server_url("valkey_url") or "", name="VALKEY_URL"))
        self.written: dict[str, int] = {}
        self.answers: Counter[str] = Counter()
        self.wrong: list[Any] = []
        self.count = 0

    def fill(self) -> None:
        scores = {f"s-{number}": 999_999 - number for number in range(SENTINELS)}
        scores |= {f"p-{number}": number % 1000 for number in range(PLAYERS - SENTINELS)}
        self.write(scores)

    def write(self, scores: dict[str, int]) -> None:
        items = [{"mode": "solo", "player_id": player, "score": score} for player, score in scores.items()]
        for first in range(0, len(items), 5000):
            answer = self.client.post("/v1/games/arena/scores", json={"scores": items[first : first + 5000]})
            assert answer.status_code in (202, 503), answer.text
            if answer.status_code == 202:
                told = items[first : first + 5000]
                self.written |= {str(one["player_id"]): int(str(one["score"])) for one in told}

    def write_some(self) -> None:
        self.count += 1
        self.write({f"p-{(self.count * 17 + n) % (PLAYERS - SENTINELS)}": 1000 + self.count for n in range(10)})

    def read_some(self) -> None:
        top = self.client.get(f"{SOLO}/leaderboards/alltime?limit=5")
        self.answers[f"top {top.status_code}"] += 1
        if top.status_code == 200 and top.json()["total"]:
            shown = [(one["rank"], one["player_id"]) for one in top.json()["entries"]]
            if shown != [(n + 1, f"s-{n}") for n in range(5)]:
                self.wrong.append(shown)
        one = self.client.get(f"{SOLO}/leaderboards/alltime/players/s-7?neighbors=2")
        self.answers[f"rank {one.status_code}"] += 1
        if one.status_code == 200 and one.json()["rank"] not in (8, None):
            self.wrong.append(one.json())
        for answer in (top, one):
            assert answer.status_code in (200, 503), answer.text
            assert answer.status_code == 200 or int(answer.headers["Retry-After"]) > 0

    def whole(self) -> bool:
        """Whether every player stands on the board with what was written last."""
        ids = list(self.written)
        for first in range(0, len(ids), 1000):
            asked = {"player_ids": ids[first : first + 1000]}
            answer = self.client.post(f"{SOLO}/leaderboards/alltime/lookup", json=asked)
            if answer.status_code != 200:
                return False
            shown = {entry["player_id"]: entry["score"] for entry in answer.json()["entries"]}
            if shown != {player: self.written[player] for player in asked["player_ids"]}:
                return False
        return True

    def healed(self, since: float) -> float:
        """Seconds until a reader sees the sentinels again, at their ranks."""
        while time.monotonic() < since + PATIENCE:
            try:
                top = self.client.get(f"{SOLO}/leaderboards/alltime?limit={SENTINELS}")
                if top.status_code == 200 and len(top.json()["entries"]) == SENTINELS:
                    shown = [(one["player_id"], one["score"]) for one in top.json()["entries"]]
                    if shown == [(f"s-{n}", 999_999 - n) for n in range(SENTINELS)]:
                        return time.monotonic() - since
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not healed in {PATIENCE} s: {top.status_code} {top.text[:300]}")

    def board(self) -> bytes:
        return self._one(lambda: self.valkey.scan_iter(match="lb:*:b:alltime|global", count=1000))

    def state(self) -> bytes:
        return self._one(lambda: self.valkey.scan_iter(match="lb:*:state", count=1000))

    def sentinel(self) -> bytes:
        return self.member(3)

    def member(self, place: int) -> bytes:
        return self._one(lambda: self.valkey.zrange(self.board(), place, place, desc=True))

    def _one(self, look: Callable[[], Iterable[bytes]]) -> bytes:
        """Looked for again, where it is just being made anew."""
        deadline = time.monotonic() + PATIENCE
        while len(found := set(look())) != 1:
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        return found.pop()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("healing")
    rung = Rung(folder / "home", free_port()).wait_until_ready()
    try:
        (folder / "arena.toml").write_text(CONFIG)
        rung.manage("apply_config", str(folder / "arena.toml"))
        scene = Scene(rung, rung.manage("create_key", "arena").strip())
        scene.fill()
        scene.healed(time.monotonic())
        yield scene
        scene.client.close()
        scene.valkey.close()
    finally:
        rung.end(signal.SIGINT)


def _everything(scene: Scene) -> None:
    scene.valkey.flushall()


def _dropped(scene: Scene) -> None:
    scene.valkey.delete(scene.board())


def _trimmed(scene: Scene) -> None:
    scene.valkey.zrem(scene.board(), scene.sentinel())


def _added(scene: Scene) -> None:
    scene.valkey.zadd(scene.board(), {b"\xff" * 8: 2**52})


def _of_another_kind(scene: Scene) -> None:
    scene.valkey.set(scene.board(), "mine")


def _state_of_another_kind(scene: Scene) -> None:
    scene.valkey.set(scene.state(), "mine")


def _mark_beyond(scene: Scene) -> None:
    scene.valkey.hset(scene.state(), "mark", 10**9)


def _renamed(scene: Scene) -> None:
    scene.valkey.rename(scene.board(), "elsewhere")


def _functions(scene: Scene) -> None:
    scene.valkey.function_flush()


def _altered(scene: Scene) -> None:
    """The board has as many members as before."""
    scene.valkey.zadd(scene.board(), {scene.sentinel(): 1})


def _altered_by_one(scene: Scene) -> None:
    scene.valkey.zincrby(scene.board(), 2**30, scene.member(500))


HARMS = [
    _altered, _altered_by_one, _everything, _dropped, _trimmed, _added, _of_another_kind, _state_of_another_kind,
    _mark_beyond, _renamed, _functions,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_the_boards_heal_by_themselves_and_show_no_wrong_rank(scene: Scene, harm: Callable[[Scene], None]) -> None:
    _under_load(scene, harm)
    assert scene.wrong == []


def test_an_older_copy_that_is_restored_is_brought_up_to_date(scene: Scene) -> None:
    copy = {key: scene.valkey.dump(key) for key in scene.valkey.scan_iter(match="lb:*", count=1000)}
    for _ in range(10):
        scene.write_some()
    scene.healed(time.monotonic())

    def restore(scene: Scene) -> None:
        pipe = scene.valkey.pipeline(transaction=True)
        pipe.flushdb()
        for key, value in copy.items():
            pipe.restore(key, 0, value)
        pipe.execute()

    _under_load(scene, restore)
    assert scene.wrong == []


def test_however_often_an_entry_is_altered_no_reader_sees_it(scene: Scene) -> None:
    """At any moment, beside our own changes to the same board: a reader is told 503 until it is ours again."""
    times = int(os.environ.get("RUNG_ALTERATIONS", "15"))
    scene.wrong.clear()
    scene.answers.clear()
    busy = [Background(scene.write_some, 0.02), *(Background(scene.read_some, 0) for _ in range(3))]
    for one in busy:
        one.start()
    for number in range(times):
        scene.valkey.zadd(scene.board(), {scene.sentinel(): number})
        scene.healed(time.monotonic())
    for one in busy:
        one.stop.set()
    for one in busy:
        one.join(timeout=40)
    assert scene.wrong == []
    assert scene.answers["top 503"] + scene.answers["rank 503"] >= times // 3  # or nobody was looking


def _under_load(scene: Scene, harm: Callable[[Scene], None]) -> None:
    scene.wrong.clear()
    scene.answers.clear()
    busy = [Background(scene.write_some, 0.1), Background(scene.read_some, 0.03)]
    for one in busy:
        one.start()
    time.sleep(0.5)
    began = time.monotonic()
    harm(scene)
    seconds = scene.healed(began)
    time.sleep(0.5)
    for one in busy:
        one.stop.set()
    for one in busy:
        one.join(timeout=40)
        assert not one.is_alive()
    deadline = time.monotonic() + PATIENCE
    while not scene.whole():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    print(f"\n{harm.__name__.strip('_')}: {seconds:.2f} s, {dict(scene.answers)}, wrong {len(scene.wrong)}")  # noqa: T201
