"""A list that nothing has changed comes from memory; what has changed shows in the next."""

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from config import valkey
from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Player
from players.scopes import Scope
from players.services import player_erase, player_upsert
from players.wire import PlayerUpsert
from tests.factories import make_game, make_key, make_mode, make_token, record_of
from tests.leaderboards.spine import drain
from tests.live import Web
from tests.live import web as started

BOARD = "/v1/games/arena/modes/solo/leaderboards/alltime"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("kept pages")]


@pytest.fixture(scope="module")
def _watching(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with started(tmp_path_factory.mktemp("watching")) as running:
        yield running


@pytest.fixture
def web(_watching: Web, transactional_db: None) -> Web:
    """One that watches its boards, which that of all other tests does not."""
    return _watching


@pytest.fixture
def solo() -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    _scores(mode, {number: 100 + number for number in range(30)})
    drain(mode)
    return mode


@pytest.fixture
def caller(web: Web, solo: Mode) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.origin, timeout=20) as client:
        assert _eventually(lambda: _is_kept(client)), "pages are not kept at all"
        yield client


def _scores(mode: Mode, scores: dict[int, int]) -> None:
    sent = [
        Submission(player_id=f"p-{number}", attempt_id=UUID(int=1000 * number + score), score=Exact(score))
        for number, score in scores.items()
    ]
    server = Caller(Kind.KEY, game=mode.game.slug, scopes=frozenset(Scope))
    scores_submit(game=record_of(mode.game), caller=server, items=[Item(mode, one) for one in sent])


def _asked_of_valkey() -> int:
    """How much this worker's boards were ever asked for, by whoever is still there. Looked at from elsewhere."""
    own = settings.VALKEY_URL.rpartition("/")[2]
    clients = valkey.client(settings.CACHE_URL).client_list()
    return sum(int(client["tot-cmds"]) for client in clients if client["db"] == own)


def _is_kept(client: httpx.Client) -> bool:
    """A few lists, one after the other, for which nobody asks the boards (but once, where its second is over)."""
    client.get(BOARD)
    before = _asked_of_valkey()
    for _ in range(5):
        assert client.get(BOARD).status_code == 200
    return _asked_of_valkey() == before


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20  # names are remembered for a minute by who does not hear that they changed
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen


def _first(client: httpx.Client) -> dict[str, Any]:
    entry: dict[str, Any] = client.get(BOARD).json()["entries"][0]
    return entry


def test_a_score_that_another_process_applies_shows_in_the_very_next_list(caller: httpx.Client, solo: Mode) -> None:
    for number in range(10):
        assert caller.get(BOARD).json()["total"] == 30 + number
        _scores(solo, {100 + number: 500 + number})
        drain(solo)
        told = caller.get(BOARD).json()
        assert (told["total"], told["entries"][0]["score"]) == (31 + number, 500 + number)


def test_another_name_shows_by_itself(caller: httpx.Client, solo: Mode) -> None:
    for name in ("Nova", "Vega"):
        assert _first(caller)["display_name"] != name
        game = record_of(solo.game)
        player_upsert(game=game, player_id="p-29", wanted=PlayerUpsert(display_name=name), at=timezone.now())
        assert _eventually(lambda name=name: _first(caller)["display_name"] == name)  # type: ignore[misc]


def test_who_is_banned_is_gone(caller: httpx.Client, solo: Mode) -> None:
    assert _first(caller)["player_id"] == "p-29"
    Ban.objects.create(player=Player.objects.get(player_id="p-29"), kind=Ban.Kind.BAN, reason="")
    drain(solo)
    assert _first(caller)["player_id"] == "p-28"


def test_who_is_erased_is_gone_before_the_boards_know(caller: httpx.Client, solo: Mode) -> None:
    assert _first(caller)["player_id"] == "p-29"
    player_erase(game=record_of(solo.game), player_id="p-29", at=timezone.now())
    assert _eventually(lambda: _first(caller)["player_id"] == "p-28")
    drain(solo)
    assert caller.get(BOARD).json()["total"] == 29


def test_of_several_shards_too_nothing_is_more_than_a_second_old(caller: httpx.Client, solo: Mode) -> None:
    many = make_mode(solo.game, "many", min_score=0, max_score=1000)
    Mode.objects.filter(pk=many.pk).update(shards=4)
    many.refresh_from_db()
    _scores(many, {number: 500 + number for number in range(30)})
    drain(many)
    board = BOARD.replace("solo", "many")

    def first(limit: int) -> str:
        found: str = caller.get(f"{board}?limit={limit}").json()["entries"][0]["player_id"]
        return found

    assert first(limit=5) == "p-29"
    Ban.objects.create(player=Player.objects.get(player_id="p-29"), kind=Ban.Kind.BAN, reason="")
    drain(many)
    banned = time.monotonic()
    while time.monotonic() - banned < 0.7:
        first(limit=5)
    first(limit=6)  # of what is shared, and nearly a second old by now
    time.sleep(max(0, banned + 1 - time.monotonic()))
    assert first(limit=6) == "p-28"


def test_who_has_it_is_told_so_until_it_changes_and_packed_it_is_the_same(caller: httpx.Client, solo: Mode) -> None:
    plain = caller.get(BOARD, headers={"Accept-Encoding": "identity"})
    known = {"If-None-Match": plain.headers["ETag"]}
    for _ in range(3):
        again = caller.get(BOARD, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        with caller.stream("GET", BOARD, headers={"Accept-Encoding": "gzip"}) as packed:
            assert packed.headers["ETag"] == plain.headers["ETag"]
            assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content
    _scores(solo, {1: 999})
    drain(solo)
    assert caller.get(BOARD, headers=known).status_code == 200


def test_what_is_kept_for_anybody_is_not_for_who_shows_a_credential_nor_the_other_way_round(
    caller: httpx.Client, solo: Mode
) -> None:
    key, token = make_key(solo.game), make_token(solo.game, "p-1")
    for credential, status in ((key, 200), (token, 200), ("rung_no", 401), (make_key(make_game("other")), 404)):
        anybody = caller.get(BOARD)
        assert "public" in anybody.headers["Cache-Control"]
        own = caller.get(BOARD, headers={"Authorization": f"Bearer {credential}"})
        assert own.status_code == status
        assert "public" not in own.headers["Cache-Control"]
    solo.game.public = False
    solo.game.save()
    assert _eventually(lambda: caller.get(BOARD).status_code == 401)
    for _ in range(3):
        own = caller.get(BOARD, headers={"Authorization": f"Bearer {key}"})
        assert (own.status_code, own.headers["Cache-Control"]) == (200, "private")
        assert caller.get(BOARD).status_code == 401


def test_two_processes_share_what_one_has_made_and_both_are_right(solo: Mode, tmp_path: Path) -> None:
    with started(tmp_path, RUNG_WEB_PROCESSES="2") as running:
        callers = [httpx.Client(base_url=running.origin, timeout=20) for _ in range(12)]
        try:
            _is_right_everywhere(callers, solo)
            _is_shared(callers)
        finally:
            for one in callers:
                one.close()


def _is_right_everywhere(callers: list[httpx.Client], solo: Mode) -> None:
    for number in range(5):
        _scores(solo, {200 + number: 700 + number})
        drain(solo)
        assert {one.get(BOARD).json()["total"] for one in callers} == {31 + number}
    game = record_of(solo.game)
    player_upsert(game=game, player_id="p-204", wanted=PlayerUpsert(display_name="Nova"), at=timezone.now())
    assert _eventually(lambda: {_first(one)["display_name"] for one in callers} == {"Nova"})
    player_erase(game=game, player_id="p-204", at=timezone.now())
    assert _eventually(lambda: {_first(one)["player_id"] for one in callers} == {"p-203"})


def _is_shared(callers: list[httpx.Client]) -> None:
    """What lies in the middle is what is shown, as long as it is of the same boards, and no longer than its second."""

    def planted() -> bool:
        (key,) = cache.keys("page:*") or [""]
        known = cache.get(key)
        if known is not None:
            cache.set(key, (known[0], time.time(), b'{"planted":true}', b'W/"x"', None), 1)
        return b"planted" in callers[0].get(BOARD).content

    assert _eventually(planted), "the shared tier is not read"
    assert _eventually(lambda: all(one.get(BOARD).json().get("total") for one in callers))
