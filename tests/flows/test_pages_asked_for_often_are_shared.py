"""Pages that strangers ask for hundreds of times a second are made a few times; whoever is somebody gets its own."""

import time
from typing import Any

import pytest
from django.utils import timezone

from config import bridge, shared_pages
from leaderboards.models import Mode
from tests.client import ApiClient
from tests.factories import make_game, make_mode, make_token
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

BOARD = "/g/arena/solo/daily"
OFTEN = 6
START = timezone.now()


@pytest.fixture
def solo(transactional_db: None) -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    submit(mode, "p-1", 5, START, 1)
    drain(mode)
    return mode


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What Django answered. The second does not end meanwhile."""
    answers, take = list[object](), bridge._Answer.take  # noqa: SLF001

    def counted(answer: Any, response: object, *others: Any) -> object:
        answers.append(response)
        return take(answer, response, *others)

    monkeypatch.setattr(bridge._Answer, "take", counted)  # noqa: SLF001
    monkeypatch.setattr(shared_pages, "_SECOND", 3600.0)
    monkeypatch.setattr(shared_pages, "_OFTEN", 3 / 3600)
    return answers


@pytest.fixture
def caller(solo: Mode, made: list[object]) -> ApiClient:
    return ApiClient()


@pytest.mark.parametrize(
    "address", ["/", "/g/arena", BOARD, "/g/arena/players/p-1", "/embed/arena/solo/daily", f"{BOARD}/card.png"]
)
def test_it_is_made_three_times_and_then_shared(caller: ApiClient, made: list[object], address: str) -> None:
    answers = [caller.get(f"{address}?x={number}") for number in range(OFTEN)]
    assert {answer.status_code for answer in answers} == {200}
    assert len(made) == 3
    assert answers[-1].content == answers[2].content
    for answer in answers:
        assert "rung-share" not in answer.headers
        assert len(answer.headers.get_list("content-length")) == 1
    assert len({answer.headers["x-request-id"] for answer in answers}) == OFTEN


def test_after_its_second_it_is_made_anew(
    caller: ApiClient, made: list[object], monkeypatch: pytest.MonkeyPatch, solo: Mode
) -> None:
    for _ in range(OFTEN):
        assert "Nobody-else" not in caller.get(BOARD).text
    submit(solo, "Nobody-else", 7, START, 2)
    drain(solo)
    assert "Nobody-else" not in caller.get(BOARD).text
    now = time.monotonic
    monkeypatch.setattr("config.shared_pages.time.monotonic", lambda: now() + 10_000)
    assert "Nobody-else" in caller.get(BOARD).text


def test_after_its_second_one_makes_it_while_the_others_have_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, key, now = shared_pages.SharedPages(), ("board",), [100.0]
    monkeypatch.setattr("config.shared_pages.time.monotonic", lambda: now[0])
    old, new = (shared_pages.Page({}, body, "") for body in (b"old", b"new"))
    shared.put(key, old, begun=now[0])
    assert [shared.get(key) for _ in range(4)] == [None, None, old, old]
    assert not shared.is_due(key)
    now[0] += 1.5
    assert [shared.is_due(key) for _ in range(3)] == [True, False, False]
    assert shared.get(key) == old
    now[0] += 0.6
    assert shared.get(key) is None, "nobody has made it: whoever asks does"
    now[0] = 101.6
    shared.put(key, new, begun=now[0])
    assert shared.get(key) == new, "it was asked for often in the second before"
    shared.put(key, old, begun=101.0)
    assert shared.get(key) == new, "what somebody set out to make before is older"
    now[0] += 10
    shared.put(key, old, begun=now[0] - 6)
    assert shared.get(key) is None, "what took so long is old already"
    shared.put(key, old, begun=now[0])
    assert shared.get(key) is None, "nobody asked for a while"


@pytest.mark.parametrize(("took", "good_for"), [(0.001, 1), (0.0625, 2.5), (4, 5)])
def test_the_longer_it_took_to_make_the_longer_it_is_shared(
    monkeypatch: pytest.MonkeyPatch, took: float, good_for: float
) -> None:
    shared, key, now = shared_pages.SharedPages(), ("board",), [100.0]
    monkeypatch.setattr("config.shared_pages.time.monotonic", lambda: now[0])
    shared.put(key, shared_pages.Page({}, b"", ""), begun=now[0] - took)
    asked = [bool(shared.get(key)) for _ in range(30)]
    assert asked.count(False) == int(3 * good_for) - 1, "that was not more than three times a second"
    now[0] += good_for - took - 0.01
    assert not shared.is_due(key)
    now[0] += 0.02
    assert shared.is_due(key)


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": "rung_language=de"},
        {"Cookie": "sessionid=a"},
        {"Authorization": "Bearer nobody"},
        {"If-None-Match": '"a"'},
        {"Range": "bytes=0-1"},
        {"Content-Type": 'text/plain;ch;charset=""arset=utf-7'},
        {"Accept-Language": "fr," * 110 + "de"},
    ],
)
def test_whoever_brings_something_of_its_own_gets_a_page_of_its_own(
    caller: ApiClient, made: list[object], headers: dict[str, str]
) -> None:
    for _ in range(OFTEN):
        caller.get(BOARD)
    assert len(made) == 3
    for _ in range(OFTEN):
        caller.get(BOARD, headers=headers)
    assert len(made) == 3 + OFTEN


def test_a_players_page_is_never_a_strangers(caller: ApiClient, made: list[object], solo: Mode) -> None:
    """Its cookie is what makes it somebody, and the answer that hands one out is nobody else's."""
    for _ in range(OFTEN):
        entered = caller.get(f"/g/arena/enter?token={make_token(solo.game, 'p-1')}")
        assert "set-cookie" in entered.headers
    assert len(made) == OFTEN


def test_other_languages_hosts_and_parameters_are_other_pages(caller: ApiClient, made: list[object]) -> None:
    ways = [
        (BOARD, {}),
        (BOARD, {"Accept-Language": "de"}),
        (BOARD, {"Host": "localhost"}),
        (BOARD, {"Accept-Encoding": "identity"}),
        (f"{BOARD}?page=2", {}),
        (f"{BOARD}?rank=1", {}),
        (f"{BOARD}?q=p-1", {}),
        ("/embed/arena/solo/daily?theme=dark", {}),
        ("/embed/arena/solo/daily?limit=3", {}),
    ]
    texts = []
    for address, headers in ways:
        before = len(made)
        answers = [caller.get(address, headers=headers) for _ in range(OFTEN)]
        assert {answer.status_code for answer in answers} == {200}, address
        assert len(made) == before + 3, (address, headers)
        texts.append(answers[-1].text)
    assert 'lang="de"' in texts[1]
    assert "http://localhost" in texts[2]


def test_refusals_are_not_shared(caller: ApiClient, made: list[object], solo: Mode) -> None:
    for _ in range(OFTEN):
        assert caller.get("/g/arena/solo/never").status_code == 404
    solo.game.public = False
    solo.game.save()
    for _ in range(OFTEN):
        assert caller.get("/g/arena/players/p-1").status_code in {401, 404}
    assert len(made) == 2 * OFTEN


def test_what_one_stranger_has_in_its_address_no_other_one_reads(caller: ApiClient) -> None:
    """Pages repeat their address, for the way back from choosing a language."""
    for _ in range(OFTEN):
        text = caller.get(f"{BOARD}?token=a-secret&page=1&q=p-1").text
        assert "a-secret" not in text
        assert 'value="/g/arena/solo/daily?page=1&amp;q=p-1"' in text


def test_pages_that_are_kept_take_bounded_memory(caller: ApiClient) -> None:
    shared = shared_pages.SharedPages()
    page = shared_pages.Page({}, b"a" * 100, "")
    for number in range(1000):
        shared.put((number,), page, begun=time.monotonic())
        shared.put((-1,), shared_pages.Page({}, b"a" * (256 * 1024 + 1), ""), begun=time.monotonic())
        shared.put((-2,), page, begun=time.monotonic())
        shared.get((-2,))
    assert (-2,) in shared._pages, "what is asked for most stays"  # noqa: SLF001
    assert len(shared._pages) <= 64  # noqa: SLF001
    assert (-1,) not in shared._pages  # noqa: SLF001


def test_parameters_are_read_as_the_page_reads_them() -> None:
    def key(query: bytes, path: str = BOARD) -> shared_pages.Key | None:
        return shared_pages.key_of(
            {"method": "GET", "path": path, "query_string": query, "headers": [(b"host", b"127.0.0.1")]}
        )

    assert key(b"page=1&page=2") == key(b"page=2") != key(b"page=2&page=1")
    assert key("q=é".encode()) is None, "Django reads it otherwise"
    assert key(b"x=1&scope=a&y") == key(b"scope=%61")
    assert key(b"page=") != key(b"")
    assert key(b"", "/v1/games") is key(b"", "/admin/") is key(b"x" * 500) is None


def test_an_answer_that_hands_out_a_cookie_is_for_one_alone() -> None:
    kept = [(shared_pages.SHARE, b"1")]
    assert shared_pages.is_shared(200, kept)
    assert not shared_pages.is_shared(200, [*kept, (b"set-cookie", b"a=b")])
    assert not shared_pages.is_shared(503, kept)
    assert not shared_pages.is_shared(200, [])


def test_a_page_for_everybody_is_made_without_what_one_brings() -> None:
    brought = [(b"host", b"a"), (b"x-anything", b"b"), (b"accept-language", b"de"), (b"user-agent", b"c")]
    assert shared_pages.without_others({"headers": brought})["headers"] == [brought[0], brought[2]]


def test_a_page_that_refuses_an_address_can_be_made_for_that_address(caller: ApiClient) -> None:
    """It repeats its address, which nobody could read: thirteen failures followed, one from the other."""
    for address in ("/nope", "/", "/g/arena"):
        answer = caller.get(f"{address}?{'a&' * 1001}")
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.status_code in {200, 400, 404}
