"""Writers, readers and a consumer beside a test that does something to the stores: nothing is lost or shown wrong."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from django.conf import settings
from django.db import connection

from config.errors import Unavailable
from leaderboards.drain import streams_sweep
from leaderboards.models import Mode
from tests import live
from tests.factories import make_game, make_key, make_mode

SENTINELS, PLAYERS, ITEMS = 10, 60, 10  # sentinels stand above all others and never move
HIGH = 900_000
Entries = list[tuple[int, str, int]]  # rank, player, score


class Traffic:
    """`solo` keeps the best of each player, `total` adds: what counted twice is seen there."""

    def __init__(self, origin: str, key: str) -> None:
        self.origin, self.headers = origin, {"Authorization": f"Bearer {key}"}
        self.acknowledged: list[dict[str, Any]] = []
        self.answers: Counter[str] = Counter()
        self.wrong: list[Any] = []
        self.versions: dict[str, list[int]] = {"solo": [], "total": []}  # as the one reader saw them
        self.count = 0
        self.day = _today()
        with self.client() as client:
            rows = [(f"s-{n}", HIGH - n) for n in range(SENTINELS)] + [(f"p-{n}", 0) for n in range(PLAYERS)]
            self.send(client, rows)

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.origin, headers=self.headers, timeout=60)

    def send(self, client: httpx.Client, rows: list[tuple[str, int]]) -> None:
        """Until it is acknowledged, as a game server does."""
        scores = [
            {"mode": mode, "player_id": player, "score": score, "attempt_id": str(uuid4())}
            for mode in ("solo", "total")
            for player, score in rows
        ]
        while True:
            answer = client.post("/v1/games/arena/scores", json={"scores": scores})
            self.answers[f"write {answer.status_code}"] += 1
            if answer.status_code == 202:
                break
            assert answer.status_code == 503, answer.text
            time.sleep(0.05)
        assert answer.json()["rejected"] == 0, answer.text
        self.acknowledged += scores

    def write(self, client: httpx.Client) -> None:
        self.count += 1
        self.send(client, [(f"p-{(self.count * 7 + n) % PLAYERS}", self.count % 500) for n in range(ITEMS)])

    def read(self, client: httpx.Client) -> None:
        for mode in ("solo", "total"):
            board = f"/v1/games/arena/modes/{mode}/leaderboards/alltime"
            top = self._read(client, f"{board}?limit={SENTINELS}")
            if top:
                shown = [(one["rank"], one["player_id"], one["score"]) for one in top["entries"]]
                if shown != [(n + 1, f"s-{n}", HIGH - n) for n in range(SENTINELS)]:
                    self.wrong.append(top)
                self.versions[mode].append(top["version"])
                if top["total"] != SENTINELS + PLAYERS:
                    self.wrong.append(top)
            one = self._read(client, f"{board}/players/s-7?neighbors=2")
            if one and (one["rank"], [beside["rank"] for beside in one["above"]]) != (8, [6, 7]):
                self.wrong.append(one)

    def _read(self, client: httpx.Client, path: str) -> Any:
        answer = client.get(path)
        self.answers[f"read {answer.status_code}"] += 1
        assert answer.status_code in (200, 503), answer.text
        return answer.json() if answer.status_code == 200 else None

    def expected(self, mode: str) -> dict[str, int]:
        """By player, from what was acknowledged."""
        found: dict[str, int] = {}
        for one in self.acknowledged:
            if one["mode"] == mode:
                before = found.get(one["player_id"], 0)
                found[one["player_id"]] = before + one["score"] if mode == "total" else max(before, one["score"])
        return found

    def shown(self, mode: str, window: str) -> dict[str, int]:
        with self.client() as client:
            answer = client.get(f"/v1/games/arena/modes/{mode}/leaderboards/{window}?limit=1000")
        entries = answer.json().get("entries", [])
        assert [one["rank"] for one in entries] == list(range(1, len(entries) + 1))
        return {one["player_id"]: one["score"] for one in entries}

    def settled(self, *, seconds: float = 90.0) -> None:
        """Each acknowledged score is on the boards, once, by itself."""
        deadline = time.monotonic() + seconds
        for mode in ("solo", "total"):
            for window in ("daily", "alltime"):
                while not self._is_settled(mode, window):
                    assert time.monotonic() < deadline, (mode, window, self.shown(mode, window), self.expected(mode))
                    time.sleep(0.1)

    def _is_settled(self, mode: str, window: str) -> bool:
        """What was sent on two days is together on no daily board."""
        return self.shown(mode, window) == self.expected(mode) or (window == "daily" and _today() != self.day)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        ended, failed = threading.Event(), []

        def again(act: Callable[[httpx.Client], None], pause: float) -> None:
            with self.client() as client:
                try:
                    while not ended.wait(pause):
                        act(client)
                except Exception as error:  # noqa: BLE001 - raised where the test sees it
                    failed.append(error)

        jobs = [(self.write, 0.01), (self.write, 0.01), (self.read, 0.02)]
        threads = [threading.Thread(target=again, args=job, daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join(timeout=90)
        assert not failed, failed
        assert not self.wrong, self.wrong[:2]


def _today() -> date:
    return datetime.now(UTC).date()


@contextmanager
def _consumer() -> Iterator[None]:
    """What the workers do."""
    ended = threading.Event()

    def consume() -> None:
        try:
            while not ended.wait(0.05):
                with suppress(Unavailable):  # a task that fails is followed by another
                    streams_sweep(now=datetime.now(UTC))
        finally:
            connection.close()

    thread = threading.Thread(target=consume)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def traffic(folder: Path, *, shards: int, **environment: str) -> Iterator[Traffic]:
    game = make_game("arena")
    for slug, rules in {"solo": {}, "total": {"aggregation": "sum", "max_total": 10**9}}.items():
        make_mode(game, slug, min_score=0, max_score=1_000_000, **rules)
    Mode.objects.update(shards=shards)
    own = {name: getattr(settings, name) for name in ("BROKER_URL", "CHANNELS_URL", "CACHE_URL")}
    with ExitStack() as running:
        web = running.enter_context(live.web(folder, **own, **environment))
        running.enter_context(_consumer())
        found = Traffic(web.origin, make_key(game))
        found.settled()
        yield found
