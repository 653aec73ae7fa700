"""Calls that were collected are each answered for what they asked, and asked once."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from structlog.testing import capture_logs

from leaderboards.fastlane import lane
from leaderboards.fastlane.calls import Call, call_of
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime.now(UTC) - timedelta(minutes=1)
MODE = "/v1/games/arena/modes/solo"
BOARD = f"{MODE}/leaderboards/alltime"
ASKED: dict[str, tuple[str, Any]] = {
    "score": (f"{MODE}/scores", {"player_id": "p-1", "score": 7}),
    "standing": (f"{BOARD}/players/p-1", None),
    "lookup": (f"{BOARD}/lookup", {"player_ids": ["p-1"]}),
    "board": (BOARD, None),
}
GOOD = {"score": 202}
TOO_MANY = b"&" * 1000  # each parts two fields, though nothing is in them


@pytest.fixture
def key() -> str:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    submit(mode, "p-1", 5, START, 1)
    drain(mode)
    return make_key(mode.game)


def _call(route: str, key: str, query: bytes = b"") -> Call:
    path, body = ASKED[route]
    found = call_of(
        {
            "type": "http",
            "method": "GET" if body is None else "POST",
            "path": path,
            "query_string": query,
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"authorization", f"Bearer {key}".encode()),
                (b"content-type", b"application/json"),
            ],
            "client": ("127.0.0.1", 50_000),
            "scheme": "http",
        }
    )
    assert found is not None
    found.content = b"" if body is None else json.dumps(body).encode()
    return found


@pytest.mark.parametrize("route", ASKED)
def test_a_call_of_too_many_fields_is_refused_alone(key: str, route: str) -> None:
    calls = [_call(route, key), _call(route, key, TOO_MANY), _call(route, key)]
    told = lane._LANES[route].act(calls)  # noqa: SLF001 - what the coalescer is given
    good = GOOD.get(route, 200)
    assert [answer.status for answer in told] == [good, 400, good]
    assert json.loads(told[1].body)["code"] == "invalid_request"


@pytest.mark.parametrize("error", [ValueError("a defect of ours"), OperationalError("the server has hung up")])
def test_what_is_no_fault_of_a_call_is_raised_for_all_so_that_each_is_tried_alone(
    key: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A connection that broke would else be everybody's 503, though a new one may be had."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(lane.questions, "standing", fail)
    with capture_logs() as said, pytest.raises(type(error)):
        lane._LANES["standing"].act([_call("standing", key)])  # noqa: SLF001
    assert said == []
