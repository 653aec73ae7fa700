"""Boards of public games go through shared caches; what a token asked for never does."""

import gzip
from uuid import UUID

import httpx
import pytest

from leaderboards.models import Mode
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BOARD = f"{SOLO}/leaderboards/alltime"


@pytest.fixture
def solo(api: ApiClient) -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    _send(api, mode, "p-1", 5)
    return mode


def _send(api: ApiClient, mode: Mode, player: str, score: int, **fields: object) -> None:
    body = {"player_id": player, "score": score, **fields}
    assert api("POST", f"{SOLO}/scores", credential=make_key(mode.game), json=body).status_code == 202
    drain(mode)


def test_a_board_is_answered_304_until_it_changes(api: ApiClient, solo: Mode) -> None:
    first = api.get(BOARD)
    assert first.headers["Cache-Control"] == "public, max-age=1, stale-while-revalidate=1"
    assert "Cookie" not in first.headers["Vary"], "shared caches give up on that"
    known = {"If-None-Match": first.headers["ETag"]}
    again = api.get(BOARD, headers=known)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert again.headers["Vary"] == first.headers["Vary"]
    assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
    assert "X-Request-Id" in again.headers
    assert api.get(f"{BOARD}?limit=1&offset=1", headers=known).status_code == 200
    _send(api, solo, "p-2", 6)
    changed = api.get(BOARD, headers=known)
    assert (changed.status_code, changed.json()["total"]) == (200, 2)
    assert changed.headers["ETag"] != first.headers["ETag"]


@pytest.mark.parametrize("header", ['W/"x", {}', "*", "{}"])
def test_any_form_of_the_question_is_understood(api: ApiClient, solo: Mode, header: str) -> None:
    etag = api.get(BOARD).headers["ETag"]
    assert api.get(BOARD, headers={"If-None-Match": header.format(etag)}).status_code == 304


def test_what_a_token_asks_for_is_private(api: ApiClient, solo: Mode) -> None:
    for credential in (make_token(solo.game, "p-1"), make_key(solo.game)):
        answer = api.get(BOARD, credential=credential)
        assert answer.headers["Cache-Control"] == "private"
        assert "Authorization" in answer.headers["Vary"]


def test_a_private_games_board_is_private(api: ApiClient, solo: Mode) -> None:
    type(solo.game).objects.update(public=False)
    answer = api.get(BOARD, credential=make_key(solo.game))
    assert answer.headers["Cache-Control"] == "private"


def test_a_long_board_is_packed_for_whoever_takes_it(web: Web, api: ApiClient) -> None:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    scores = [{"mode": "solo", "player_id": f"p-{number}", "score": number} for number in range(50)]
    api("POST", "/v1/games/arena/scores", credential=make_key(mode.game), json={"scores": scores})
    drain(mode)
    with httpx.Client(base_url=web.origin, timeout=60) as client:
        plain = client.get(BOARD, headers={"Accept-Encoding": "identity"})
        with client.stream("GET", BOARD, headers={"Accept-Encoding": "gzip"}) as answer:
            packed = b"".join(answer.iter_raw())
            assert answer.headers["Content-Encoding"] == "gzip"
            assert "Accept-Encoding" in answer.headers["Vary"]
        assert gzip.decompress(packed) == plain.content
        assert len(packed) < len(plain.content) / 3
        assert "Content-Encoding" not in plain.headers
        assert "Content-Encoding" not in client.get(BOARD, headers={"Accept-Encoding": "br, gzip;q=0"}).headers


def test_metadata_comes_with_the_entries_it_counts_for(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(dimensions=["country", "level"])
    solo.refresh_from_db()
    _send(api, solo, "p-1", 9, metadata={"loadout": "bow"}, dimensions={"level": "7"})
    _send(api, solo, "p-1", 8, metadata={"loadout": "worse"}, dimensions={"level": "8"})
    _send(api, solo, "p-2", 3)
    both = [
        {"mode": "solo", "player_id": "p-3", "score": score, "metadata": {"of": score}, "attempt_id": str(UUID(int=n))}
        for n, score in ((1, 2), (2, 1))
    ]
    api("POST", "/v1/games/arena/scores", credential=make_key(solo.game), json={"scores": both})
    drain(solo)

    def shown(address: str) -> list[object]:
        return [entry["metadata"] for entry in api.get(address).json()["entries"]]

    assert shown(f"{BOARD}?include=metadata") == [{"loadout": "bow"}, None, {"of": 2}]
    assert shown(f"{BOARD}?include=metadata&scope=level:8") == [{"loadout": "worse"}]
    assert shown(f"{SOLO}/leaderboards/daily?include=metadata") == [{"loadout": "bow"}, None, {"of": 2}]
    assert "metadata" not in api.get(BOARD).json()["entries"][0]
    assert api.get(f"{BOARD}?include=everything").status_code == 400
