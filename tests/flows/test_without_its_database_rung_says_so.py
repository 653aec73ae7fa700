"""With PostgreSQL gone, callers get a problem that says to come back, and people a page; never a 500."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import live
from tests.sockets import opened, subscribe

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def orphaned(tmp_path: Path) -> Iterator[live.Web]:
    """A web process whose database is not there."""
    with live.web(tmp_path, DATABASE_URL="postgresql://rung:wrong@127.0.0.1:9/rung") as running:
        yield running


def test_api_calls_are_told_to_come_back(orphaned: live.Web) -> None:
    for method, path in (("GET", "/v1/games"), ("GET", "/v1/games/demo"), ("PUT", "/v1/games/demo/players/p-1")):
        headers = {"Authorization": f"Bearer rung_00000000_{'0' * 48}"} if method == "PUT" else {}
        answer = httpx.request(method, orphaned.origin + path, headers=headers, timeout=20)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), path
        assert answer.headers["retry-after"] == "1"
        assert "wrong" not in answer.text


def test_people_get_a_page(orphaned: live.Web) -> None:
    answer = httpx.get(orphaned.origin, timeout=20)
    assert answer.status_code == 503
    assert answer.headers["content-type"].startswith("text/html")


def test_sockets_are_told_to_come_back(orphaned: live.Web) -> None:
    with opened(orphaned) as socket:
        told = socket.ask(subscribe())
        assert (told["type"], told["id"], told["code"]) == ("error", "a", "unavailable")
        assert socket.ask({"op": "ping"}) == {"type": "pong"}, "it stays open"


def test_the_probe_names_the_database(orphaned: live.Web) -> None:
    answer = httpx.get(f"{orphaned.origin}/readyz", timeout=20)
    assert answer.status_code == 503
    assert answer.json()["status"] == "down"
    assert not answer.json()["checks"]["database"]["ok"]
