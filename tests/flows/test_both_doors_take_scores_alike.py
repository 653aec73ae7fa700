"""Both doors take scores alike: the good, the bad and the repeated, one and many."""

from typing import Any

import pytest
import time_machine

from tests.doors import Ask, Doors
from tests.twins import Twin, midday

FIRST = "00000000-0000-0000-0000-0000000000ff"
UPPER = FIRST.upper()
SECOND = FIRST.replace("ff", "fe")
GOOD = {"player_id": "p-1", "attempt_id": "ATTEMPT", "score": 500}
FIELDS: list[dict[str, Any]] = [
    *({"score": score} for score in (0, 1000, 1001, -1, 10**30, -(2**53), 2**53, 2**63, 1e308, 1.5, 7.0, True, None)),
    *({"score": score} for score in ("7", "7.0", " 7", "1e2", "1e99999", "NaN", "Infinity", "٥", "1_0", "", [], {})),
    *(
        {"player_id": one}
        for one in ("p-new", "banned", "idle", "", " ", "a/b", "Нова", "😀", "x" * 65, 7, None, "a\tb")
    ),
    *({"attempt_id": one} for one in (FIRST, FIRST, UPPER, "x", "", 7, None, FIRST[:-1], "{" + FIRST + "}")),
    {"attempt_id": FIRST, "score": 501},
    {"attempt_id": FIRST, "dimensions": {"level": "7"}},
    {"attempt_id": FIRST, "player_id": "p-2"},
    *({"achieved_at": at} for at in ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "2020-01-01", "x", 7, None)),
    *({"achieved_at": at} for at in ("2026-11-16T11:00:00", "0000-00-00T00:00:00Z", "2020-01-01T00:00:00+25:00")),
    *({"dimensions": one} for one in ({"level": "8"}, {"level": 8}, {"country": "DE"}, {"nope": "x"}, {"level": ""})),
    *({"dimensions": one} for one in ({"level": "x" * 200}, {"level": "a b"}, [], "level", None, {"level": "9"})),
    *({"dimensions": {"level": f"full-{number}"}} for number in range(6)),  # the last ones find no room
    *({"metadata": one} for one in ({"a": 1}, "text", None, [[[]]], {"a": "x" * 3000}, 1e400, {"": {}})),
    *({"client": one} for one in ({}, {"platform": "ios"}, {"nope": 1}, {"device": "x" * 200}, [], None)),
    *({"attempt_token": one} for one in ("", "x", "a.b.c", "x" * 5000, 7, None)),
    {"mode": "solo"},
    {"unknown": 1},
    {"Score": 1},
    {"request_id": "x"},
]
BODIES = [
    *(
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"{}",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"[" * 5000,
        b"NaN",
        b'{"a":',
    ),
    *(b'{"score":1,"player_id":"a\\u0000"}', b'{"score":1,"player_id":"\x00"}', b'{"score":1,"player_id":"\\ud800"}'),
    b'{"score":1,"score":2,"player_id":"p-1","attempt_id":"ATTEMPT"}',
    b' {"score" : 1.0e1 , "player_id":"p-1","attempt_id":"ATTEMPT"}\n',
    b'{"score":01,"player_id":"p-1"}',
    b'{"score":' + b"9" * 5000 + b',"player_id":"p-1"}',
]
MODES = ["laps", "equal", "thick", "total", "last", "free", "vouched", "empty", "off", "none"]
IDEMPOTENCY = [FIRST, f'"{FIRST}"', f" {FIRST} ", "x", "", "{" + FIRST + "}", "ä"]
IDEMPOTENCY += [FIRST.replace("-", ""), UPPER, f"urn:uuid:{FIRST}", "+" + "a" * 31, "a_" + "a" * 30, f'"{FIRST}', '"']


@pytest.fixture
def doors(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Doors:
    return Doors(monkeypatch)


def _one() -> list[tuple[str, Ask]]:
    path = "/v1/games/GAME/modes/{}/scores"
    solo = Ask("POST", path.format("solo"), body=GOOD)
    asks = [solo.but(body=GOOD | fields) for fields in FIELDS]
    asks += [solo.but(body={name: GOOD[name] for name in GOOD if name != absent}) for absent in ("score", "player_id")]
    asks += [solo.but(body=body) for body in BODIES]
    asks += [solo.but(path=path.format(mode), who=who) for mode in MODES for who in ("key", "player", "new player")]
    asks += [
        solo.but(path=path.format(mode), body=GOOD | {"score": score, "player_id": player})
        for mode in ("laps", "equal", "thick", "total", "last")
        for score, player in (("12.345", "p-2"), ("12.3456", "p-2"), (12.5, "p-3"), (110, "p-4"), (1000, "p-5"))
    ]
    free = solo.but(path=path.format("free"))
    asks += [free.but(who=who) for who in ("banned player", "idle player", "player who is not plain", "forged")]
    asks += [free.but(who="player", body=GOOD | {"player_id": "p-2"})]
    asks += [free.but(who="player", body=GOOD | {"achieved_at": "2020-01-01T00:00:00Z"})]
    again = {"attempt_id": SECOND}  # a player may not bring the level, a key may; the first outcome stays
    asks += [
        free.but(who=who, body=GOOD | fields | {"dimensions": dimensions})
        for who, fields, dimensions in (
            ("player", again, {"level": "1"}),
            ("key", {}, {"level": "1", "map": "ice"}),
            ("player", again, {"level": "1"}),
            ("player", again, {"level": "2"}),
            ("player", {}, {"level": "1", "map": "ice"}),
            ("player", {}, {"map": "fire"}),
            ("key", {}, {"map": "fire"}),
        )
    ]
    unnamed = {name: GOOD[name] for name in GOOD if name != "attempt_id"}
    for number, key in enumerate(IDEMPOTENCY):
        header = ("Idempotency-Key", key)
        asks += [solo.sent(header).but(body=unnamed | {"score": 300 + number // 3}), solo.sent(header)]
    asks += [solo.sent(("Idempotency-Key", FIRST), ("Idempotency-Key", FIRST)).but(body=unnamed)]
    asks += [
        solo.but(query=f"window={window}") for window in ("daily", "weekly:2026-W01", "daily:2099-01-01", "Ä", "1")
    ]
    asks += [solo.but(body=GOOD | {"metadata": {"x": "y" * size}}) for size in (2000, 2040, 2100)]
    asks += [solo.but(body=b" " * (8 * 1024 * 1024 + 1))]
    return [
        (f"{number}: {ask.path} {str(ask.body)[:80]} {ask.who} {ask.headers}", ask) for number, ask in enumerate(asks)
    ]


def _many() -> list[tuple[str, Ask]]:
    good = {"mode": "solo", **GOOD}
    batch = Ask("POST", "/v1/games/GAME/scores")
    beside = {"mode": "equal", **GOOD, "player_id": "p-2"}
    wholes: list[Any] = [{"scores": [good | fields, beside]} for fields in FIELDS]
    wholes += [{"scores": [{**good, "mode": mode}, beside]} for mode in (*MODES, "", "\0", "x" * 200, 7, None)]
    wholes += [{"scores": [good] * 3}, {"scores": [good, good | {"score": 7}]}, {"scores": []}, {"scores": [{}]}]
    wholes += [{"scores": [good], "more": 1}, {"scores": good}, {"scores": None}, [good], {}]
    wholes += [{"scores": [{"mode": "solo"}] * 10_001}, {"scores": [1, "x", None, [], good]}, {"scores": [GOOD]}]
    wholes += [b'{"scores": [%s]}' % body for body in BODIES] + BODIES
    asks = [batch.but(body=whole) for whole in wholes]
    asks += [batch.but(body={"scores": [good]}, who=who) for who in ("player", "banned player", "submit", "read")]
    lines = [b"", b"\n\n", b"{}\n{}", b'\n{"mode":"solo","score":1,"player_id":"p-1","attempt_id":"ATTEMPT"}\r\n\n']
    lines += [*BODIES, b"{}\n" * 10_001, b"\x00", b'{"mode":"solo","score":1}\n[]\nnull\n{"mode":"none","score":2}']
    asks += [batch.but(body=line, kind="application/x-ndjson") for line in lines]
    return [(f"{number}: {str(ask.body)[:80]} {ask.kind} {ask.who}", ask) for number, ask in enumerate(asks)]


@pytest.mark.parametrize("asks", [_one(), _many()], ids=["one", "many"])
def test_whatever_is_submitted(doors: Doors, asks: list[tuple[str, Ask]]) -> None:
    with time_machine.travel(midday(), tick=False):
        twins = (Twin("a", midday()), Twin("b", midday()))
        found = doors.differences(asks, twins)
    assert found == {}
    assert doors.own > 50, "the fast lane was hardly asked"
