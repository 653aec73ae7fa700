"""Callers who close or reset their socket anywhere in a submission and send it again: it counts once."""

import json
import os
import random
import secrets
import socket
import struct
from collections import Counter
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.conf import settings
from django.db import connection

from leaderboards.models import Mode, Outbox
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.live import Web

ONE = "/v1/games/arena/modes/total/scores"
MANY = "/v1/games/arena/scores"
BOARD = "/v1/games/arena/modes/total/leaderboards"
SINGLES, BATCHES, ITEMS = 300, 12, 500
SEED = secrets.token_hex(4) if "RUNG_RANDOM" in os.environ else "the same every time"
Call = tuple[str, dict[str, Any]]  # path, body


def _hang_up(web: Web, key: str, call: Call, chance: random.Random) -> None:
    path, body = call
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    request = head.encode() + content
    where = chance.choice(["in the headers", "in the body", "all sent", "reading"])
    sent = {
        "in the headers": chance.randrange(1, len(head)),
        "in the body": chance.randrange(len(head), len(request)),
    }.get(where, len(request))
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as caller:
        if chance.random() < 0.5:  # closing resets
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.sendall(request[:sent])
        if where == "reading":
            caller.recv(chance.randint(1, 40))


def _acknowledged(client: httpx.Client, call: Call) -> bool:
    """Whether it was known already."""
    path, body = call
    answer = client.post(path, json=body)
    assert answer.status_code in (200, 202), answer.text
    told = answer.json()
    if path == ONE:
        return bool(told["duplicate"])
    assert (told["accepted"], told["duplicates"], told["rejected"]) in {(ITEMS, 0, 0), (0, ITEMS, 0)}, told
    return bool(told["duplicates"])


def _calls(chance: random.Random) -> list[Call]:
    def attempt() -> dict[str, Any]:
        player = f"p-{chance.randrange(20)}"
        return {"player_id": player, "attempt_id": str(uuid4()), "score": chance.randint(1, 100)}

    found: list[Call] = [(ONE, attempt()) for _ in range(SINGLES)]
    found += [(MANY, {"scores": [attempt() | {"mode": "total"} for _ in range(ITEMS)]}) for _ in range(BATCHES)]
    return chance.sample(found, len(found))


@pytest.fixture
def total() -> Mode:
    bounds = {"min_score": 0, "max_score": 100, "max_total": 10**9}
    return make_mode(make_game("arena"), "total", aggregation="sum", **bounds)


def test_whoever_hangs_up_anywhere_and_sends_again_counts_once_and_disturbs_nobody(web: Web, total: Mode) -> None:
    chance = random.Random(SEED)  # noqa: S311 - a mix, not a secret
    key, before = make_key(total.game), len(web.said())
    calls = _calls(chance)
    later: list[Call] = []
    known: Counter[bool] = Counter()
    with httpx.Client(base_url=web.origin, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for call in calls:
            for _ in range(chance.choice([1, 1, 3])):
                _hang_up(web, key, call, chance)
            if chance.random() < 0.5:
                known[_acknowledged(client, call)] += 1  # perhaps while the first is still being written
            else:
                later.append(call)
        for call in later:
            known[_acknowledged(client, call)] += 1
        assert client.get("/readyz").status_code == 200
    assert min(known[True], known[False]) > 50, known  # some were written before they were sent again, some not
    told = [item for path, body in calls for item in (body["scores"] if path == MANY else [body])]
    assert _logged() == sorted((one["player_id"], one["attempt_id"], one["score"]) for one in told), SEED
    while Outbox.objects.exists():  # who drains gives its turn back after a second
        drain(total)
    expected: dict[str, int] = {}
    for one in told:
        expected[one["player_id"]] = expected.get(one["player_id"], 0) + one["score"]
    entries = httpx.get(f"{web.origin}{BOARD}/alltime?limit=100", timeout=60).json()["entries"]
    assert {entry["player_id"]: entry["score"] for entry in entries} == expected, SEED
    threads = settings.WEB_THREADS + settings.LANE_THREADS
    assert 0 < _connections(web) <= threads + 4, "one a thread; others may just be leaving"
    said = web.said()[before:]
    assert "Traceback" not in said, said
    assert "[error" not in said
    assert "status=5" not in said


def _logged() -> list[tuple[str, str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.player_id, a.attempt_id::text, a.score FROM score_attempts a"
            " JOIN players_player p ON p.id = a.player_id"
        )
        return sorted(cursor.fetchall())


def _connections(web: Web) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [web.name])
        count: int = cursor.fetchone()[0]
    return count
