"""Both doors answer alike: whoever asks, however oddly, the fast lane says what Django alone would, byte for byte."""

from collections.abc import Iterator

import pytest
import time_machine

from tests.doors import Ask, Doors
from tests.twins import Twin, midday

MODE = "/v1/games/GAME/modes/solo"
BOARD = f"{MODE}/leaderboards/alltime"
ONE = {"player_id": "p-1", "attempt_id": "ATTEMPT", "score": 500}
ROUTES = {
    "score": Ask("POST", f"{MODE}/scores", body=ONE),
    "scores": Ask("POST", "/v1/games/GAME/scores", body={"scores": [{"mode": "solo", **ONE}]}),
    "board": Ask("GET", BOARD, kind=None),
    "standing": Ask("GET", f"{BOARD}/players/p-3", "neighbors=2", kind=None),
    "me": Ask("GET", f"{BOARD}/me", "neighbors=2", who="player", kind=None),
    "lookup": Ask("POST", f"{BOARD}/lookup", body={"player_ids": ["p-1", "p-2", "nobody"]}),
}
PEOPLE = [
    *("nobody", "key", "read", "submit", "manage", "revoked", "expired", "unknown", "short", "stranger", "empty"),
    *("stranger's player", "private's", "player", "new player", "idle player", "banned player", "no token"),
    *("player who is not plain", "expired player", "too long a token", "forged", "attempt token", "nobody's token"),
    *("token of no game", "scheme alone", "another scheme", "small letters", "spaces", "not ASCII"),
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]
HEADERS = [
    [("Authorization", "Bearer rung_another")],
    [("Host", "evil.example")],
    [("Host", "127.0.0.1:8000")],
    [("Host", "127.0.0.1:99999999")],
    [("Host", "LOCALHOST.")],
    [("Host", "absent")],
    [("Host", "127.0.0.1"), ("Host", "localhost")],
    [("Host", "a b")],
    [("Host", "[::1]:80")],
    [("Host", "127.0.0.1:" + "0" * 300)],
    [("Host", "a." * 10_000 + "localhost")],
    [("Host", "127.0.0.1"), ("X-Forwarded-Host", "evil.example")],
    [("X-Forwarded-Proto", "https"), ("X-Forwarded-For", "203.0.113.9")],
    [("Authorization_", "x"), ("Content_Type", "text/plain"), ("Idempotency_Key", "x")],
    [("Accept", "text/html")],
    [("Accept", "application/xml;q=0.1"), ("Accept", "\x7f")],
    [("Accept-Language", "de"), ("Origin", "http://evil.example"), ("Referer", "http://evil.example")],
    [("Accept-Encoding", "gzip")],
    [("Accept-Encoding", "br"), ("Accept-Encoding", "gzip")],
    [("Range", "bytes=0-9")],
    [("If-Match", "*")],
    [("If-Match", '"x"')],
    [("If-None-Match", "*")],
    [("If-None-Match", '"x", W/"y"')],
    [("If-Modified-Since", "Wed, 21 Oct 2099 07:28:00 GMT")],
    [("If-Unmodified-Since", "Wed, 21 Oct 2009 07:28:00 GMT")],
    [("Expect", "100-continue")],
    [("Prefer", "wait=0")],
    [("Prefer", "respond-async"), ("Prefer", "wait=x")],
    [("X-HTTP-Method-Override", "DELETE")],
    [("X-Request-Id", "mine"), ("X-Request-Id", "other")],
    [("Content-Encoding", "gzip")],
    [("Content-Encoding", "identity")],
    [("Content-Length", "0")],
    [("Content-Length", "999999999")],
    [("Transfer-Encoding", "chunked")],
    [("Upgrade-Insecure-Requests", "1"), ("DNT", "1")],
]
COOKIES = ["c=d", "sessionid=abc", "csrftoken=" + 32 * "x", "messages=x"]
KINDS = [
    *(None, "", "application/json", "APPLICATION/JSON", " application/json ", "application/json;charset=utf-8"),
    *("application/json; charset=utf-16", "application/json; charset=latin-1", "application/json; charset=no", "json"),
    *("application/json;", "application/json; a=b; c", "text/plain", 'text/"a;b"', "multipart/form-data; boundary=x"),
    *("application/x-www-form-urlencoded", "application/x-ndjson", "application/x-ndjson; charset=utf-8"),
    *("application/json, application/json", "application/json;charset*=no''x", "x" * 20_000, "ä/ö; charset=utf-8"),
]
QUERIES = [
    *(
        "x=1",
        "scope=global",
        "scope=country:DE",
        "scope=level:7",
        "scope=level:unheard",
        "scope=none:x",
        "scope=",
        "&&=",
    ),
    *("scope=global&scope=country:DE", "scope=country:DE&scope=global", "scope=%", "scope=%ff", "scope=%00", "scope=ä"),
    *(
        "scope=\udcff",
        "%73cope=level:7",
        "scope=level%3A7",
        "scope=level:7;x=1",
        "scope[]=x",
        "SCOPE=none",
        "scope=a+b",
    ),
    *("x=1&" * 999, "x=1&" * 1001, "scope=" + "x" * 5000, "window=daily", "window=weekly", "window=never", "window="),
    *("limit=3&x=" + "a" * 2038, "limit=3&x=" + "a" * 2039, "limit=3&x=" + "a" * 60_000, "&" * 1000, "a" * 3000 + "=1"),
    *("limit=3", "limit=0", "neighbors=3", "neighbors=51", "offset=-1", "include=x", "cursor=x", "score=ä%C3%A4"),
]
PATHS = [
    *("x" * 3000, "/" + "x" * 3000, "/", "//", "/x", "%2F", "%00", "%0A", "%20", "%ff", "?"),
    *(("GAME", other) for other in ("nowhere", "TWIN-A", "twin-", "PRIVATE", "%00", "ä", "%ff", "x" * 300, "..", "")),
    *(("solo", other) for other in ("none", "SOLO", "%00", "ä", "%ff", "x" * 300, "so%6Co", "solo%20", "empty", "off")),
    *(("/v1", other) for other in ("//v1", "/v2", "/V1", "", "/v1/", "/./v1", "/v1%2F")),
    *(
        ("alltime", other)
        for other in ("daily", "monthly", "never", "%00", "ä", "alltime:1", "daily:1999-01-01", "x" * 99)
    ),
    *(("scores", "score"), ("leaderboards", "boards"), ("lookup", "look"), ("me", "Me"), ("modes", "mode")),
]


def _variations(ask: Ask) -> Iterator[tuple[str, Ask]]:
    yield "as it should be", ask
    yield "sent again", ask
    for who in PEOPLE:
        yield f"by {who}", ask.but(who=who)
    for who in ("nobody", "key", "private's", "private's, submit", "private's player", "player", "stranger"):
        yield f"of a private game by {who}", ask.but(path=ask.path.replace("GAME", "PRIVATE"), who=who)
    for method in METHODS:
        yield f"by {method}", ask.but(method=method)
    for headers in HEADERS:
        yield f"with {headers}", ask.sent(*headers)
    for cookie in COOKIES:
        for who in ("key", "empty"):
            yield f"with {cookie} by {who}", ask.sent(("Cookie", "a=b"), ("Cookie", cookie)).but(who=who)
    for kind in KINDS if ask.body else KINDS[::4]:
        yield f"as {(kind or repr(kind))[:50]}", ask.but(kind=kind)
    for query in QUERIES:
        yield f"?{query[:50]!r}", ask.but(query=query)
    yield "of another encoding", ask.but(kind="application/json; charset=latin-1", query="scope=level:%E4")
    for path in PATHS:
        changed = ask.path + path if isinstance(path, str) else ask.path.replace(*path)
        yield f"at {changed[:80]!r}", ask.but(path=changed)


@pytest.fixture
def doors(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Doors:
    return Doors(monkeypatch)


@pytest.mark.parametrize("route", ROUTES)
def test_whoever_asks_however_oddly(doors: Doors, route: str) -> None:
    asks = list(_variations(ROUTES[route]))
    with time_machine.travel(midday(), tick=False):
        one = Twin("a", midday())
        twins = (one, Twin("b", midday()) if route in {"score", "scores"} else one)  # who only reads changes nothing
        found = doors.differences(asks, twins)
    assert found == {}
    assert doors.own > 50, "the fast lane was hardly asked"
