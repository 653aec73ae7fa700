"""What is answered without ASGI is what the door would have answered, header by header.

A request that ends its connection goes through the door, so each is sent both ways.
"""

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit
from tests.live import Web, web

pytestmark = pytest.mark.django_db(transaction=True)
MODE = "/v1/games/arena/modes/solo"
BOARD = f"{MODE}/leaderboards/alltime"
_MAY_DIFFER = (b"date:", b"x-request-id:", b"connection:")


class Answer(NamedTuple):
    status: bytes
    headers: list[bytes]
    body: bytes


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[tuple[Web, dict[str, str]]]:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number in range(1, 5):
        submit(mode, f"p-{number}", number * 10, datetime.now(UTC), number)
    drain(mode)
    who = {"key": make_key(mode.game), "player": make_token(mode.game, "p-2"), "nobody": "", "wrong": "rung_wrong"}
    with web(tmp_path, RUNG_WEB_PROCESSES="1") as running:
        yield running, who


def _request(method: str, path: str, token: str, body: object, *more: str) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "X-Request-Id: the-same", *more]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"] if body is not None else []
    return "\r\n".join([*lines, "", ""]).encode() + content


def _ask(port: int, request: bytes) -> Answer:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as caller:
        caller.sendall(request)
        file = caller.makefile("rb")
        status, headers = file.readline(), list[bytes]()
        while (line := file.readline()) not in (b"\r\n", b""):
            headers.append(line)
        lengths = [int(line.split(b":")[1]) for line in headers if line.lower().startswith(b"content-length:")]
        body = file.read(lengths[0])
    return Answer(status, sorted(line for line in headers if not line.lower().startswith(_MAY_DIFFER)), body)


ASKED: dict[str, tuple[str, str, object]] = {
    "a board": ("GET", f"{BOARD}?limit=2", None),
    "a board that is not": ("GET", f"{MODE}/leaderboards/nightly", None),
    "a limit that is none": ("GET", f"{BOARD}?limit=many", None),
    "a standing": ("GET", f"{BOARD}/players/p-2?neighbors=1", None),
    "nobody": ("GET", f"{BOARD}/players/p-9", None),
    "me": ("GET", f"{BOARD}/me", None),
    "a lookup": ("POST", f"{BOARD}/lookup", {"player_ids": ["p-1", "p-9"]}),
    "a score out of bounds": ("POST", f"{MODE}/scores", {"player_id": "p-1", "score": 1001}),
    "a score that is none": ("POST", f"{MODE}/scores", {"player_id": "p-1", "score": []}),
    "a batch of nothing": ("POST", "/v1/games/arena/scores", {"scores": []}),
    "another game": ("GET", BOARD.replace("arena", "other"), None),
    "the same attempt again": (
        "POST",
        f"{MODE}/scores",
        {"player_id": "p-1", "score": 10, "attempt_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
    ),
}


def test_both_ways_answer_alike(arena: tuple[Web, dict[str, str]]) -> None:
    running, who = arena
    _ask(running.port, _request(*ASKED["the same attempt again"][:2], who["key"], ASKED["the same attempt again"][2]))
    for name, (method, path, body) in ASKED.items():
        for caller, token in who.items():
            straight = _ask(running.port, _request(method, path, token, body))
            by_the_door = _ask(running.port, _request(method, path, token, body, "Connection: close"))
            assert straight == by_the_door, (name, caller)
            assert int(straight.status.split()[1]) < 500, (name, caller)


def test_a_score_that_came_straight_is_there(arena: tuple[Web, dict[str, str]]) -> None:
    running, who = arena
    told = _ask(running.port, _request("POST", f"{MODE}/scores", who["key"], {"player_id": "p-4", "score": 900}))
    assert told.status.split()[1] == b"202"
    assert json.loads(told.body)["score"] == 900
