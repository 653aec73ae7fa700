"""One score has one rank: the list, the player's own, the neighbours, the lookup and the committed write agree."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from leaderboards.models import Mode
from tests.factories import make_game, make_key, make_mode, make_player
from tests.leaderboards.spine import drain, drained
from tests.live import Web

KINDS = [("unique", 1), ("unique", 4), ("competition", 1), ("competition", 4), ("dense", 1)]
CASES = [
    ("unique", 1, "desc", "earliest"),
    ("unique", 1, "asc", "none"),
    ("unique", 4, "desc", "earliest"),
    ("unique", 4, "asc", "latest"),
    ("unique", 4, "desc", "none"),
    ("competition", 1, "asc", "earliest"),
    ("competition", 4, "desc", "latest"),
    ("competition", 4, "desc", "none"),
    ("dense", 1, "desc", "earliest"),
    ("dense", 1, "asc", "latest"),
    ("dense", 1, "desc", "none"),
]
EQUAL = 50  # players with one score
BEGAN = datetime.now(UTC) - timedelta(minutes=30)
# pairs of players share a moment too, so that the last tie, the older player, decides as well
SCORES = {f"p-{n}": (500, BEGAN + timedelta(seconds=n // 2)) for n in range(EQUAL)} | {
    f"p-{n}": (score, BEGAN) for n, score in enumerate([900, 900, 800, 501, 501, 501, 499, 100, 100, 0], EQUAL)
}

Scores = dict[str, tuple[int, datetime]]
Row = tuple[str, int, int, str | None]  # player_id, rank, score, achieved_at
Answer = tuple[int, list[Row]]  # version, rows as they stand on the board


def _row(entry: dict[str, Any]) -> Row:
    return entry["player_id"], entry["rank"], entry["score"], entry["achieved_at"]


class Unavailable(Exception):
    """The board changed faster than it could be read: no answer, so no wrong one."""


def _told(answer: httpx.Response) -> Any:
    if answer.status_code == 503:
        raise Unavailable(answer.text)
    assert answer.status_code == 200, answer.text
    return answer.json()


class Board:
    """One board, asked through every door that there is."""

    def __init__(self, web: Web, mode: Mode) -> None:
        self.mode, self.game = mode, f"{web.origin}/v1/games/{mode.game.slug}"
        self.path = f"{self.game}/modes/solo/leaderboards/alltime"
        self.http = httpx.Client(headers={"Authorization": f"Bearer {make_key(mode.game)}"}, timeout=30)

    def send(self, **score: object) -> Any:
        """Answered once the boards show it."""
        wait = {"Prefer": "wait=10"}
        answer = self.http.post(f"{self.game}/modes/solo/scores", json=score, headers=wait)
        assert (answer.status_code, answer.json()["status"]) == (200, "committed"), answer.text
        return answer.json()

    def send_many(self, scores: Scores) -> None:
        items = [
            {"mode": "solo", "player_id": player, "score": score, "achieved_at": at.isoformat()}
            for player, (score, at) in scores.items()
        ]
        answer = self.http.post(f"{self.game}/scores", json={"scores": items})
        assert answer.json()["accepted"] == len(scores), answer.text

    def fill(self, scores: Scores) -> None:
        self.send_many(scores)
        drain(self.mode)

    def page(self, **query: object) -> Any:
        return _told(self.http.get(f"{self.path}?{urlencode(query)}"))

    def listed(self) -> Answer:
        page = self.page(limit=1000)
        return page["version"], [_row(entry) for entry in page["entries"]]

    def by_offset(self, limit: int) -> Iterator[Answer]:
        total = self.page(limit=1)["total"]
        for offset in range(0, total, limit):
            page = self.page(limit=limit, offset=offset)
            yield page["version"], [_row(entry) for entry in page["entries"]]

    def by_cursor(self, limit: int, *, back: bool = False) -> Iterator[Answer]:
        """In the order of the board, from either end."""
        name, first = ("prev_cursor", self.page(limit=1)["total"] - limit) if back else ("next_cursor", 0)
        page, found = self.page(limit=limit, offset=first), []
        while True:
            found.append((page["version"], [_row(entry) for entry in page["entries"]]))
            if page[name] is None:
                return iter(found[::-1] if back else found)
            page = self.page(limit=limit, cursor=page[name])

    def own(self, player_id: str, *, neighbors: int = 0) -> Answer:
        own = _told(self.http.get(f"{self.path}/players/{player_id}?neighbors={neighbors}"))
        return own["version"], [_row(entry) for entry in (*own["above"], own, *own["below"])]

    def lookup(self, *player_ids: str) -> Answer:
        found = _told(self.http.post(f"{self.path}/lookup", json={"player_ids": player_ids}))
        return found["version"], [_row(entry) for entry in found["entries"]]


@pytest.fixture
def board(web: Web) -> Iterator[Board]:
    board = Board(web, make_mode(make_game(), min_score=0, max_score=1000))
    for player_id in random.Random(7).sample(sorted(SCORES), len(SCORES)):  # noqa: S311 - the same one each time
        make_player(board.mode.game, player_id)
    with board.http:
        yield board


def _ruled(board: Board, **rules: object) -> None:
    Mode.objects.filter(pk=board.mode.pk).update(**rules)
    board.mode.refresh_from_db()


def _merit(mode: Mode, score: int, at: datetime) -> tuple[int, float]:
    """The least is the best."""
    better = -1 if mode.order == "desc" else 1
    sooner = {"earliest": 1, "latest": -1, "none": 0}[mode.tie_break]
    return better * score, sooner * at.timestamp()


def _expected(board: Board, scores: Scores) -> list[tuple[str, int, int]]:
    """Who stands where with what, told from the scores alone."""
    mode = board.mode
    older = dict(mode.game.players.values_list("player_id", "pk"))
    ordered = sorted(scores, key=lambda one: (*_merit(mode, *scores[one]), older[one]))
    points = [scores[one][0] for one in ordered]
    ranks = {
        "unique": list(range(1, len(ordered) + 1)),
        "competition": [1 + points.index(point) for point in points],
        "dense": [1 + list(dict.fromkeys(points)).index(point) for point in points],
    }[mode.ranking]
    return list(zip(ordered, ranks, points, strict=True))


@pytest.mark.parametrize(("ranking", "shards", "order", "tie_break"), CASES)
def test_at_rest_every_door_tells_the_same_rank(
    board: Board, *, ranking: str, shards: int, order: str, tie_break: str
) -> None:
    _ruled(board, ranking=ranking, shards=shards, order=order, tie_break=tie_break)
    board.fill(SCORES)
    version, rows = board.listed()
    assert [row[:3] for row in rows] == _expected(board, SCORES)
    for pages in (board.by_offset(7), board.by_cursor(7), board.by_cursor(7, back=True)):
        answers = list(pages)
        assert {answer[0] for answer in answers} == {version}
        assert [row for answer in answers for row in answer[1]] == rows
    shuffled = random.Random(1).sample(rows, len(rows))  # noqa: S311 - the same one each time
    assert board.lookup(*(row[0] for row in shuffled)) == (version, shuffled)
    for index, row in enumerate(rows):
        reach = index % 7  # none, one, … six on each side
        assert board.own(row[0], neighbors=reach) == (version, rows[max(0, index - reach) : index + reach + 1])


@pytest.mark.parametrize(("ranking", "shards", "order", "tie_break"), CASES)
def test_a_committed_write_tells_the_rank_that_every_door_tells(
    board: Board, *, ranking: str, shards: int, order: str, tie_break: str
) -> None:
    _ruled(board, ranking=ranking, shards=shards, order=order, tie_break=tie_break)
    board.fill(SCORES)
    mode, sent = board.mode, dict(SCORES)
    with drained(mode):
        for n, (player_id, score) in enumerate(
            [("new-1", 500), ("new-2", 500), ("p-7", 500), ("p-8", 900), ("p-9", 100), ("new-3", 1000), ("new-4", 0)]
        ):
            at = BEGAN + timedelta(minutes=1, seconds=n)
            told = board.send(player_id=player_id, score=score, achieved_at=at.isoformat())
            sent[player_id] = min(sent.get(player_id, (score, at)), (score, at), key=lambda one: _merit(mode, *one))
            version, rows = board.listed()
            assert [row[:3] for row in rows] == _expected(board, sent)
            assert told["version"] == version
            own = next(row for row in rows if row[0] == player_id)
            assert (told["rank_after"], told["total"], told["estimate"]) == (own[1], len(rows), False)
            assert board.own(player_id) == board.lookup(player_id) == (version, [own])
            index = rows.index(own)
            assert board.own(player_id, neighbors=3) == (version, rows[max(0, index - 3) : index + 4])
            again = board.send(player_id=player_id, score=score, attempt_id=told["attempt_id"])
            assert (again["duplicate"], again["rank_after"], again["version"]) == (True, own[1], version)


@pytest.mark.parametrize(("ranking", "shards"), KINDS)
def test_while_scores_arrive_answers_of_one_version_agree(board: Board, *, ranking: str, shards: int) -> None:
    _ruled(board, ranking=ranking, shards=shards)
    board.fill(SCORES)
    players, ended = sorted(SCORES), Event()

    def read(number: int) -> list[Answer]:
        chance, answers = random.Random(number), []  # noqa: S311 - whose rank is asked is no secret
        while not ended.is_set():
            with suppress(Unavailable):
                answers += [board.listed(), board.lookup(*players), board.own(chance.choice(players), neighbors=20)]
        return answers

    def write() -> list[tuple[int, str, int]]:
        chance, told = random.Random(shards), []  # noqa: S311 - the same one each time
        for _ in range(10):
            board.send_many({chance.choice(players): (chance.choice([500, 900]), datetime.now(UTC)) for _ in range(8)})
            answer = board.send(player_id=chance.choice(players), score=chance.randrange(490, 510))
            told.append((answer["version"], answer["player_id"], answer["rank_after"]))
        return told

    with drained(board.mode), ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read, number) for number in range(2)]
        try:
            committed = write()
        finally:
            ended.set()
        seen = [answer for reader in readers for answer in reader.result()]
    drain(board.mode)
    seen += [board.listed(), board.lookup(*players), *(board.own(player_id) for player_id in players)]
    known: dict[tuple[int, str], Row] = {}
    for version, rows in seen:
        for row in rows:
            assert known.setdefault((version, row[0]), row) == row
    for version, player_id, rank in committed:
        assert known.get((version, player_id), ("", rank))[1] == rank
