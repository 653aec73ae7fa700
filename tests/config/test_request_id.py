"""One id follows a request: from its header or made for it, into every answer, log line, task and socket message."""

import json
import re
import time
from collections.abc import Callable
from typing import TypeVar

import httpx
import pytest
from websockets.sync.client import connect

from tests.client import ApiClient
from tests.live import Web

T = TypeVar("T")
MADE = re.compile(r"[0-9a-f]{32}")


def test_an_id_that_is_given_is_echoed_and_one_is_made_where_none_is(api: ApiClient) -> None:
    assert api.get("/v1/games", headers={"X-Request-Id": "Ab.c_1-2"}).headers["X-Request-Id"] == "Ab.c_1-2"
    made = {api.get("/v1/games").headers["X-Request-Id"] for _ in range(3)}
    assert len(made) == 3
    assert all(MADE.fullmatch(request_id) for request_id in made)


@pytest.mark.parametrize("bad", ["a b", "x" * 65, "ä", 'a"b', "a\tb", "<script>", " "])
def test_an_id_that_could_do_harm_in_a_log_is_replaced(api: ApiClient, bad: str) -> None:
    answer = api.get("/v1/games", headers=[("X-Request-Id", bad.encode())])
    assert MADE.fullmatch(answer.headers["X-Request-Id"])


def test_a_problem_names_the_same_id_as_its_header(api: ApiClient) -> None:
    for path in ("/v1/games/nowhere", "/v1/nowhere", "/v1/games/nowhere/players/p"):
        answer = api.get(path, headers={"X-Request-Id": "mine"})
        assert (answer.json()["request_id"], answer.headers["X-Request-Id"]) == ("mine", "mine"), path


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/", "/nowhere", "/static/rung.css", "/v1/docs"])
def test_every_answer_carries_an_id(api: ApiClient, path: str) -> None:
    assert api.get(path, headers={"X-Request-Id": "mine"}).headers.get_list("X-Request-Id") == ["mine"]


def test_the_line_in_the_log_has_the_id_that_the_caller_was_told(web: Web) -> None:
    told = httpx.get(f"{web.origin}/v1/games/nowhere", timeout=60).headers["X-Request-Id"]
    assert _eventually(
        lambda: [line for line in web.said().splitlines() if told in line and "/v1/games/nowhere" in line]
    )


def test_each_message_on_a_socket_has_an_id_of_its_own_in_the_log(web: Web) -> None:
    before = len(web.said())
    with connect(web.socket, additional_headers={"X-Request-Id": "the-socket"}) as socket:
        for _ in range(3):
            socket.send(json.dumps({"op": "unsubscribe", "id": "a"}))
            assert json.loads(socket.recv(timeout=60)) == {"type": "unsubscribed", "id": "a"}

    def ids() -> list[str]:
        said = [line for line in web.said()[before:].splitlines() if "op=unsubscribe" in line]
        return [found[1] for line in said if (found := re.search(r"request_id=(\S+)", line))]

    assert len(_eventually(lambda: ids() if len(ids()) == 3 else None) or []) == 3
    assert len(set(ids())) == 3
    assert "the-socket" not in ids()


def _eventually(look: Callable[[], T]) -> T:
    deadline = time.monotonic() + 60
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen
