"""Both doors show boards and players alike, and what is kept is what would be made anew."""

import json
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import time_machine
from django.core.cache import cache
from pytest_django import Settings

from config.recall import changes
from leaderboards.boards.guard import Guard
from leaderboards.fastlane import pages
from tests.doors import Ask, Doors
from tests.twins import PLAYERS, Twin, midday

MODES = "/v1/games/GAME/modes"
BOARD = f"{MODES}/solo/leaderboards/alltime"
RANKED = ["laps", "equal", "thick", "total", "empty", "off", "free"]
SCOPES = ["scope=global", "scope=country:DE", "scope=country:FR", "scope=level:7", "scope=level:x%20y", "scope=guild:x"]
NUMBERS = [
    "0",
    "1",
    "2",
    "5",
    "50",
    "51",
    "1000",
    "1001",
    "-1",
    "1.0",
    "1.5",
    "1e2",
    "x",
    "",
    "%201",
    "٥",
    "9" * 40,
    "01",
]
LISTS = [
    *(f"limit={number}" for number in NUMBERS),
    *(f"offset={number}" for number in NUMBERS),
    *("limit=3&offset=5", "offset=16", "offset=17&limit=1", "offset=1000000", "offset=1000001", "limit=1&limit=2"),
    *("min_score=120", "max_score=150", "min_score=120&max_score=150&limit=2", "min_score=200&max_score=100"),
    *(
        "min_score=x",
        "max_score=1e400",
        "min_score=1.5",
        "min_score=1e3",
        "min_score=+7",
        "min_score=",
        "min_score=%00",
    ),
    *("include=metadata", "include=all", "include=", "include=metadata&limit=1", "include=metadata&scope=level:7"),
    *(
        "cursor=",
        "cursor=x",
        "cursor=" + "x" * 501,
        "cursor=%00",
        "cursor=eyJ9",
        "cursor=ä",
        "cursor=" + "ä" * 400,
        "cursor=a&offset=3",
    ),
    *SCOPES,
]
TAGS = [
    "*",
    "{}",
    'W/"x", {}',
    '"x"',
    "x",
    "",
    '"*"',
    "{},{}",
    "{strong}",
    'W/{strong}, "',
    "*, {}",
    " * ",
    "w/{strong}",
]
PACKED = ["gzip", "GZIP", "gzip;q=0", "gzip; q=0.0, br", "gzip;q=0.5", "*", "identity", "", "x-gzip", "br, gzip;q=1"]
WINDOWS = ["daily", "weekly", "monthly", "alltime", "season", "DAILY", "daily:2026-13-01", "daily:2099-01-01", "daily:"]


@pytest.fixture
def doors(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doors]:
    """With everything heard, so that what may be kept is."""
    own = Guard()
    own._events.open()  # noqa: SLF001 - without a thread: what it knows, a reader has heard
    for module in ("leaderboards.boards.board", "leaderboards.fastlane.pages"):
        monkeypatch.setattr(f"{module}.guard", own)
    changes.begin_to_listen()
    deadline = time.monotonic() + 60
    while changes.epoch is None and time.monotonic() < deadline:
        time.sleep(0.01)
    yield Doors(monkeypatch)
    own._events.close()  # noqa: SLF001
    pages.forget()


@pytest.fixture
def twin(doors: Doors) -> Iterator[Twin]:
    with time_machine.travel(midday(), tick=False):
        yield Twin("a", midday())


def _named(asks: list[Ask]) -> list[tuple[str, Ask]]:
    return [
        (f"{number}: {one.method} {one.path}?{one.query[:60]} {str(one.body)[:60]} {one.who} {one.headers}", one)
        for number, one in enumerate(asks)
    ]


def _same(doors: Doors, twin: Twin, asks: list[Ask], *, times: int = 1) -> None:
    assert len(asks) > 50
    assert doors.differences(_named(asks), (twin, twin), times=times) == {}
    assert doors.own > 50, "the fast lane was hardly asked"


def test_lists(doors: Doors, twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = list[object](), pages.board_state
    monkeypatch.setattr(pages, "board_state", lambda board, asked: made.append(board) or make(board, asked=asked))
    board = Ask("GET", BOARD, who="nobody", kind=None)
    asks = [board.but(query=query) for query in LISTS]
    asks += [
        board.but(path=f"{MODES}/{mode}/leaderboards/alltime", query=q) for mode in RANKED for q in ("", "limit=4")
    ]
    asks += [
        board.but(path=f"{MODES}/laps/leaderboards/alltime", query=q) for q in ("min_score=110.5", "max_score=1.2345")
    ]
    asks += [board.but(path=f"{MODES}/solo/leaderboards/{window}") for window in WINDOWS]
    asks += [board.but(path=f"{MODES}/last/leaderboards/{window}") for window in ("daily", "alltime")]
    asks += [board.but(who=who) for who in ("key", "player", "revoked", "stranger")]
    shut = board.but(path=board.path.replace("GAME", "PRIVATE"))
    asks += [
        shut.but(who=who) for who in ("nobody", "private's", "private's player", "nobody", "private's, submit", "key")
    ]
    tag = dict(doors.send(doors.django, board, twin)[1])[b"etag"].decode()
    known = [one.replace("{strong}", tag[2:]).replace("{}", tag) for one in TAGS]
    asks += [one.sent(("If-None-Match", tags)) for one in (board, board.but(who="key")) for tags in known]
    asks += [board.sent(("Accept-Encoding", packed)) for packed in PACKED]
    asks += [board.but(query="limit=1").sent(("Accept-Encoding", "gzip"))]
    asks += [board.sent(("Accept-Encoding", "gzip"), ("If-None-Match", tag)), board.but(method="HEAD")]
    _same(doors, twin, asks, times=2)
    made.clear()
    pages.forget()
    monkeypatch.setattr(pages, "SECONDS", 60.0)  # however long five take
    told = [doors.answered(doors.fast, board, twin) for _ in range(5)]
    assert (len(made), told) == (1, [doors.answered(doors.django, board, twin)] * 5), "nothing is kept"


@pytest.mark.parametrize(("age", "shown"), [(0.0, True), (0.9, True), (1.0, False)])
def test_a_page_that_another_process_made_keeps_its_age(
    doors: Doors, twin: Twin, settings: Settings, age: float, shown: bool
) -> None:
    settings.WEB_PROCESSES = 2
    board = Ask("GET", BOARD, who="nobody", kind=None)
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(pages, "SECONDS", 60.0)  # so that it is still there when we look
        real = doors.answered(doors.fast, board, twin)
    assert real == doors.answered(doors.django, board, twin)
    (key,) = cache.keys("page:*")
    of, made, *_ = cache.get(key)
    cache.set(key, (of, made - age, b"{}", b'W/"x"', None), 60)
    pages.forget()
    began = time.monotonic()
    assert (doors.answered(doors.fast, board, twin).body == b"{}") is shown
    left = max(one.until for one in pages._kept.values()) - began  # noqa: SLF001 - how long it is kept from now on
    assert left <= (1 - age if shown else 1) + 0.05 + (time.monotonic() - began)


def test_lists_from_cursor_to_cursor(doors: Doors, twin: Twin) -> None:
    """Forwards, backwards, in bands, and where it does not belong."""
    asks = []
    for mode in ("solo", "laps", "equal", "thick"):
        for band in ("", "&min_score=110&max_score=160"):
            ask = Ask("GET", f"{MODES}/{mode}/leaderboards/alltime", f"limit=3&offset=4{band}", who="nobody", kind=None)
            told = json.loads(doors.send(doors.django, ask, twin)[2])
            cursors = [quote(told[name]) for name in ("next_cursor", "prev_cursor") if told[name]]
            asks += [ask.but(query=f"limit={n}&cursor={one}") for one in cursors for n in (1, 5)]
            asks += [ask.but(query=f"cursor={one}&min_score=1") for one in cursors]
            asks += [ask.but(path=f"{MODES}/total/leaderboards/alltime", query=f"cursor={one}") for one in cursors]
    _same(doors, twin, asks)


def test_where_a_player_stands(doors: Doors, twin: Twin) -> None:
    one = Ask("GET", f"{BOARD}/players/p-4", kind=None)
    asks = [one.but(query=f"neighbors={number}") for number in NUMBERS]
    others = [
        *PLAYERS,
        "idle",
        "banned",
        "nobody",
        "x" * 64,
        "x" * 65,
        "a\nb",
        " ",
        "\x7f",
        "%2F",
        "a;b",
        "..",
        "lookup",
    ]
    asks += [one.but(path=f"{BOARD}/players/{quote(player, safe='')}", query="neighbors=2") for player in others]
    asks += [
        one.but(path=f"{MODES}/{mode}/leaderboards/alltime/players/p-5", query=f"neighbors={n}")
        for mode in RANKED
        for n in (0, 3, 50)
    ]
    asks += [one.but(path=f"{MODES}/solo/leaderboards/{window}/players/p-4") for window in WINDOWS]
    asks += [one.but(query=f"{scope}&neighbors=50") for scope in SCOPES]
    mine = Ask("GET", f"{BOARD}/me", kind=None, who="player")
    asks += [mine.but(query=f"neighbors={number}") for number in NUMBERS]
    asks += [mine.but(query=f"{scope}&neighbors=1") for scope in SCOPES]
    people = (
        "idle player",
        "banned player",
        "new player",
        "player who is not plain",
        "key",
        "nobody",
        "private's player",
    )
    asks += [mine.but(who=who, query="neighbors=1") for who in people]
    asks += [mine.but(path=f"{MODES}/{mode}/leaderboards/alltime/me") for mode in RANKED]
    _same(doors, twin, asks)


def test_where_many_stand(doors: Doors, twin: Twin) -> None:
    look = Ask("POST", f"{BOARD}/lookup", who="nobody")
    lists = [
        [],
        ["p-1"],
        ["p-1", "p-1"],
        PLAYERS,
        ["banned", "idle", "none"],
        ["x" * 64],
        ["x" * 65],
        [1],
        [None],
        [""],
    ]
    lists += [
        ["p-1"] * 1000,
        ["p-1"] * 1001,
        [f"n-{n}" for n in range(1000)],
        ["\0"],
        ["a/b", "😀", "\u202e"],
        [["p-1"]],
    ]
    asks = [look.but(body={"player_ids": one}) for one in lists]
    wrong = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"player_ids":"p-1"}',
        b'{"player_ids":null}',
        b"\xff",
        b'"x"',
        b"[" * 3000,
    ]
    wrong += [b'{"player_ids":["\\u0000"]}', b'{"player_ids":["\\ud800"]}', b'{"player_ids":[],"more":1}']
    wrong += [b'{"player_ids":["p-1"],"player_ids":["p-2"]}', b'{"players":[]}', b' {"player_ids" : [ "p-1" ] } ']
    asks += [look.but(body=one) for one in wrong]
    few = look.but(body={"player_ids": ["p-2", "idle", "p-9", "nobody"]})
    asks += [few.but(path=f"{MODES}/{mode}/leaderboards/alltime/lookup") for mode in RANKED]
    asks += [few.but(path=f"{MODES}/solo/leaderboards/{window}/lookup") for window in WINDOWS]
    asks += [few.but(query=scope) for scope in SCOPES]
    asks += [few.but(who=who) for who in ("key", "player", "revoked", "submit", "stranger")]
    asks += [
        few.sent(("Accept-Encoding", "gzip")),
        few.sent(("If-None-Match", "*")),
        few.but(kind="application/x-ndjson"),
    ]
    _same(doors, twin, asks)
