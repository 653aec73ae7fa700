"""Whatever a caller sends is answered in the contract's words, and the next caller is served. Never a 500, or HTML."""

import base64
import hashlib
import hmac
import json
import socket
import time
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from config import wire
from config.errors import InvalidRequest
from players.models import Game, Player
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.live import Web

PLAYER = "/v1/games/arena/players/p-1"
MODE = "/v1/games/arena/modes/solo"
JSON = {"Content-Type": "application/json"}
MOST = 8 * 1024 * 1024


@pytest.fixture
def arena(db: None) -> Game:
    return make_game("arena")


@pytest.fixture
def key(arena: Game) -> str:
    return make_key(arena)


def told(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem that is told as the contract says."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return answer.status_code, problem["code"]


# --- bodies --------------------------------------------------------------------------------------------------------

NOT_ACCEPTED = {
    "nothing": b"",
    "half an object": b'{"display_name": "N',
    "words": b"display_name=Nova",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "two objects": b"{}{}",
    "a comment": b'{} // "hello"',
    "a trailing comma": b'{"display_name": "Nova",}',
    "single quotes": b"{'display_name': 'Nova'}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"display_name": "Nova"}'.encode("utf-16"),
    "bad UTF-8": b'{"display_name": "\xff\xfe"}',
    "an overlong encoding": b'{"display_name": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"display_name": "\xed\xa0\x80"}',
    "half a character": rb'{"display_name": "\ud800"}',
    "the other half": rb'{"display_name": "\udc00\ud800"}',
    "a raw NUL": b'{"display_name": "No\x00va"}',
    "an escaped NUL": rb'{"display_name": "No\u0000va"}',
    "an escaped NUL after backslashes": rb'{"display_name": "No\\\u0000va"}',
    "a NUL in a key": rb'{"display_name\u0000": "Nova"}',
    "a raw line break": b'{"display_name": "No\nva"}',
    "brackets without end": b"[" * 100_000,
    "deep brackets": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"display_name":' * 100_000 + b"1" + b"}" * 100_000,
    "a field nobody knows": b'{"nickname": "Nova"}',
    "a field misspelt": b'{"displayName": "Nova"}',
    "a prototype": b'{"__proto__": {"admin": true}}',
    "a name that is a number": b'{"display_name": 7}',
    "a name that is a list": b'{"display_name": ["Nova"]}',
    "a name that is null": b'{"display_name": null}',
    "a name that is empty": b'{"display_name": ""}',
    "a name of spaces": b'{"display_name": "   "}',
    "a name of a megabyte": b'{"display_name": "' + b"N" * 1_000_000 + b'"}',
    "a name that turns the text around": '{"display_name": "Nova\u202e"}'.encode(),
    "not a number": b"NaN",
    "infinity": b"Infinity",
}


@pytest.mark.parametrize("body", NOT_ACCEPTED.values(), ids=NOT_ACCEPTED.keys())
def test_a_body_that_makes_no_sense_is_an_invalid_request_and_changes_nothing(
    api: ApiClient, key: str, body: bytes
) -> None:
    assert told(api.put(PLAYER, credential=key, content=body, headers=JSON)) == (400, "invalid_request")
    assert not Player.objects.exists()


@pytest.mark.parametrize(
    "body", [rb'{"title": "a\u0000"}', rb'{"description": "\u0000"}', rb'{"bounds": {"\u0000": {}}}']
)
def test_no_text_holds_a_nul_which_the_database_could_not_keep(api: ApiClient, key: str, body: bytes) -> None:
    assert told(api.put(MODE, credential=key, content=body, headers=JSON)) == (400, "invalid_request")


def test_a_body_of_any_shape_is_refused_when_it_is_nested_without_end() -> None:
    for body in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(InvalidRequest):
            wire.decode(body, Any)  # type: ignore[arg-type]


def test_of_a_key_that_is_there_twice_the_last_counts(api: ApiClient, key: str) -> None:
    body = b'{"display_name": "Nova", "display_name": "Vega"}'
    assert api.put(PLAYER, credential=key, content=body, headers=JSON).json()["display_name"] == "Vega"


@pytest.mark.parametrize("country", ["DE\n", "D", "DEU", "ZZ", "ÄÖ", "1e", "", "de ", "<b>", 49, ["DE"]])
def test_a_country_that_is_none_is_refused_by_name(api: ApiClient, key: str, country: Any) -> None:
    answer = api.put(PLAYER, credential=key, json={"country": country})
    assert told(answer) == (400, "invalid_request")
    assert "country" in answer.json()["errors"]


@pytest.mark.parametrize("region", ["EU", "e u", "-eu", "eu\n", "e" * 33, "", "eu:1", "€u", True])
def test_a_region_that_is_none_is_refused_by_name(api: ApiClient, key: str, region: Any) -> None:
    answer = api.put(PLAYER, credential=key, json={"region": region})
    assert told(answer) == (400, "invalid_request")
    assert "region" in answer.json()["errors"]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "http://plain.example/a.png",
        "https://",
        "https:///a.png",
        "https://a b.example/",
        'https://a.example/"onerror="x',
        "https://a.example/<script>",
        "https://a.example/\n",
        "https://ä.example/",
        "https://a.example/" + "a" * 500,
        "data:image/png;base64,AAAA",
        " https://a.example/",
        "//a.example/",
    ],
)
def test_an_avatar_that_a_page_could_not_show_safely_is_refused_by_name(api: ApiClient, key: str, address: str) -> None:
    answer = api.put(PLAYER, credential=key, json={"avatar_url": address})
    assert told(answer) == (400, "invalid_request")
    assert "avatar_url" in answer.json()["errors"]


HUGE = [
    "1e400",
    "-1e400",
    "1e999999",
    "1e-999999",
    "9223372036854775808",
    "9007199254740993",
    "1" * 5000,
    "0." + "1" * 5000,
]
HUGE_TEXTS = ["1e999999", "NaN", "sNaN", "Infinity", "-Infinity", "1e-400", "", "0x10", "1,5", "--1", "9" * 5000]


@pytest.mark.parametrize("number", [*HUGE, *map(json.dumps, HUGE_TEXTS), "true", "[]", "{}"])
def test_a_bound_that_no_score_could_keep_is_refused_and_costs_nothing(api: ApiClient, key: str, number: str) -> None:
    for body in (
        b'{"min_score": 0, "max_score": %s}',
        b'{"min_score": %s, "max_score": 10}',
        b'{"aggregation": "sum", "min_score": 0, "max_score": 1, "max_total": %s}',
        b'{"dimensions": ["level"], "bounds": {"level:7": {"max_score": %s}}}',
    ):
        answer = api.put(MODE, credential=key, content=body % number.encode(), headers=JSON)
        assert told(answer) == (400, "invalid_request"), body
        assert len(answer.content) < 4000, "the answer repeats what was sent"


@pytest.mark.parametrize("decimals", ["NaN", "1e400", "-1", "7", "1.5", '"3"', "true", "null", str(2**63)])
def test_decimals_are_a_small_number(api: ApiClient, key: str, decimals: str) -> None:
    answer = api.put(MODE, credential=key, content=b'{"decimals": %s}' % decimals.encode(), headers=JSON)
    assert told(answer) == (400, "invalid_request")


@pytest.mark.parametrize(
    "rules",
    [
        {"timezone": "../../etc/passwd"},
        {"timezone": "/etc/passwd"},
        {"timezone": "Europe/Berlin\n"},
        {"timezone": ""},
        {"timezone": "."},
        {"timezone": "Europe"},
        {"windows": []},
        {"windows": ["daily", "daily"]},
        {"windows": ["hourly"]},
        {"dimensions": ["global"]},
        {"dimensions": ["le vel"]},
        {"dimensions": ["x"] * 9},
        {"bounds": {"level:7": {}}},
        {"bounds": {":": {"max_score": 1}}},
        {"bounds": {"country:DE": {"max_score": 1}}},
    ],
)
def test_rules_that_do_not_fit_are_refused(api: ApiClient, key: str, rules: dict[str, Any]) -> None:
    assert told(api.put(MODE, credential=key, json=rules)) == (400, "invalid_request")


# --- how it is sent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "json",
        "application/xml",
        "application/json5",
        "application/jsonx; a=b",
        "application/x-ndjson",
        "*/*",
        ";",
        "a" * 5000,
    ],
)
def test_a_body_that_is_not_declared_as_json_is_an_unsupported_media_type(
    api: ApiClient, key: str, content_type: str
) -> None:
    answer = api.put(PLAYER, credential=key, content=b"{}", headers={"Content-Type": content_type})
    assert told(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON;charset=UTF-8",
        "application/json;",
        "application/json; charset=utf-16",
        "application/json; charset=nonsense",
    ],
)
def test_json_is_utf_8_whatever_charset_is_claimed(api: ApiClient, key: str, content_type: str) -> None:
    body = '{"display_name": "Нова"}'.encode()
    answer = api.put(PLAYER, credential=key, content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["display_name"]) == (201, "Нова")


def test_a_body_of_more_than_8_mib_is_too_large_and_one_of_less_is_looked_at(api: ApiClient, key: str) -> None:
    assert told(api.put(PLAYER, credential=key, content=b" " * (MOST + 1), headers=JSON)) == (413, "payload_too_large")
    assert told(api.put(PLAYER, credential=key, content=b" " * MOST, headers=JSON)) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["POST", "PATCH", "TRACE", "BREW", "OPTIONS", "A" * 1000])
def test_a_method_that_an_address_does_not_take_is_refused_with_those_it_takes(
    api: ApiClient, arena: Game, method: str
) -> None:
    answer = api(method, PLAYER)
    assert told(answer) == (405, "method_not_allowed")
    assert method not in answer.text
    assert {"GET", "PUT", "DELETE"} <= {name.strip() for name in answer.headers["allow"].split(",")}


def test_head_is_get_without_the_body(api: ApiClient, arena: Game) -> None:
    make_mode(arena)
    for path in ("/v1/games", "/v1/games/arena", MODE, "/v1/openapi.json", "/livez"):
        answer = api("HEAD", path)
        assert (answer.status_code, answer.content) == (200, b""), path


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0.1", "", "\x7f", ";;;", "a" * 5000])
def test_whatever_is_asked_for_an_api_call_gets_json(api: ApiClient, arena: Game, accept: str) -> None:
    assert api.get("/v1/games/arena", headers={"Accept": accept}).headers["content-type"] == "application/json"
    assert told(api.get("/v1/nothing", headers={"Accept": accept})) == (404, "not_found")
    assert told(api.get(PLAYER, headers={"Accept": accept})) == (404, "player_not_found")


@pytest.mark.parametrize("host", ["evil.example", "a b", "[::1", "127.0.0.1@evil.example", "x" * 300])
def test_a_host_that_is_not_ours_is_refused_and_never_repeated(api: ApiClient, arena: Game, host: str) -> None:
    answer = api.get("/v1/games/arena", headers={"Host": host})
    assert told(answer) == (400, "invalid_request")
    assert host not in answer.text


def test_ten_thousand_query_parameters_are_ignored(api: ApiClient, arena: Game) -> None:
    query = "&".join(["a=%00"] * 5_000 + ["%ff"] * 5_000)
    assert api.get(f"/v1/games/arena?{query}").status_code == 200


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        ("trace-17.a_B", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a" * 1000, False),
        ("a b", False),
        ("a\tb", False),
        ("ä", False),
        ("<script>", False),
        ('"; drop', False),
        ("", False),
    ],
)
def test_a_harmless_request_id_is_echoed_and_any_other_replaced(
    api: ApiClient, arena: Game, offered: str, kept: bool
) -> None:
    answer = api.get("/v1/games/arena", headers={"X-Request-Id": offered.encode()})
    assert (answer.headers["x-request-id"] == offered) is kept
    assert answer.headers.get_list("x-request-id") == [answer.headers["x-request-id"]]


# --- addresses -----------------------------------------------------------------------------------------------------

IDS = [
    "Нова",
    "日本語",
    "👩🚀",
    "e\u0301",
    "a b",
    "100%",
    "%2F",
    "%00",
    "a+b",
    "a&b=c",
    "a?b#c",
    '"',
    "'; DROP TABLE players_player; --",
    "<script>alert(1)",
    "{{7*7}}",
    "${7*7}",
    "...",
    "a;b",
    "~",
    "@:,",
    "-",
    "_",
    "null",
    "export",
    "me",
    "x" * 64,
    "😀" * 64,
]


@pytest.mark.parametrize("player_id", IDS)
def test_a_player_id_may_hold_any_visible_character_and_comes_back_as_it_was(
    api: ApiClient, arena: Game, key: str, player_id: str
) -> None:
    path = f"/v1/games/arena/players/{quote(player_id, safe='')}"
    assert api.put(path, credential=key, json={}).status_code == 201
    assert api.get(path).json()["player_id"] == player_id
    assert api.get(f"{path}/export", credential=make_token(arena, player_id)).json()["player"]["player_id"] == player_id
    assert api.delete(path, credential=key).status_code == 204
    assert told(api.get(path)) == (404, "player_not_found")


NO_IDS = ["%00", "a%00b", "%0A", "%0D%0AX-Evil:1", "%1B[31m", "%7F", "%C2%85", "%E2%80%AE", "%E2%80%8B", "%20", "a%20"]
NO_IDS += ["x" * 65, "%5C", "%E2%80%A8", "%F0%9F%98%80" * 65]


@pytest.mark.parametrize("segment", NO_IDS)
def test_what_cannot_be_a_player_id_is_nobodys_and_cannot_be_made(api: ApiClient, key: str, segment: str) -> None:
    path = f"/v1/games/arena/players/{segment}"
    assert told(api.get(path)) == (404, "player_not_found")
    assert told(api.put(path, credential=key, json={})) == (400, "invalid_request")
    assert told(api.delete(path, credential=key)) == (404, "player_not_found")


@pytest.mark.parametrize(
    "slug", ["%00", "..%2F", "ARENA", "arena%0A", "%C3%A4", "-", "a" * 51, "a" * 10_000, "%F0%9F%98%80"]
)
def test_what_cannot_be_a_game_or_a_mode_is_not_found_and_cannot_be_made(api: ApiClient, key: str, slug: str) -> None:
    slug_is_a_path = "%2F" in slug
    answers = [api.get(f"/v1/games/{slug}"), api.get(f"/v1/games/{slug}/modes/solo", credential=key)]
    answers.append(api.get(f"/v1/games/arena/modes/{slug}", credential=key))
    assert [told(answer)[0] for answer in answers] == [404, 404, 404]
    made = told(api.put(f"/v1/games/arena/modes/{slug}", credential=key, json={}))
    assert made == ((404, "not_found") if slug_is_a_path else (400, "invalid_request"))


# --- credentials ---------------------------------------------------------------------------------------------------


def _part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _signed(game: Game, claims: object, header: object = None, *, hashed: Any = hashlib.sha256) -> str:
    """A token signed with the game's real secret, so that nothing but what it says is wrong with it."""
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    signed = f"{_part(head)}.{_part(claims)}"
    return f"{signed}.{_part(hmac.new(game.signing_secret.encode(), signed.encode(), hashed).digest())}"


def _claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": "arena", "sub": "p-1", "typ": "player", "iat": now, "exp": now + 3600, **changes}
    return {name: value for name, value in claims.items() if value is not ...}


def _raw_claims(**texts: str) -> bytes:
    """Claims with JSON that Python would not write."""
    claims = {name: json.dumps(value) for name, value in _claims().items()} | texts
    return ("{" + ",".join(f'"{name}":{text}' for name, text in claims.items()) + "}").encode()


DAY = 24 * 3600
BAD_CLAIMS: dict[str, Any] = {
    "no expiry": lambda: _claims(exp=...),
    "expiry null": lambda: _claims(exp=None),
    "expiry a text": lambda: _claims(exp=str(int(time.time()) + 60)),
    "expiry a boolean": lambda: _claims(exp=True),
    "expiry a list": lambda: _claims(exp=[int(time.time()) + 60]),
    "expiry negative": lambda: _claims(exp=-1),
    "expiry zero": lambda: _claims(exp=0),
    "expired": lambda: _claims(exp=int(time.time()) - 1),
    "expiry 25 hours ahead": lambda: _claims(exp=int(time.time()) + DAY + 3600),
    "expiry 2**63": lambda: _claims(exp=2**63),
    "expiry NaN": lambda: _raw_claims(exp="NaN"),
    "expiry Infinity": lambda: _raw_claims(exp="Infinity"),
    "expiry -Infinity": lambda: _raw_claims(exp="-Infinity"),
    "expiry 1e400": lambda: _raw_claims(exp="1e400"),
    "expiry of 3000 digits": lambda: _raw_claims(exp="9" * 2500),
    "issued in the future": lambda: _claims(iat=int(time.time()) + 3600),
    "issued NaN": lambda: _raw_claims(iat="NaN"),
    "issued a text": lambda: _claims(iat="now"),
    "issued 1e400": lambda: _raw_claims(iat="1e400"),
    "of another game": lambda: _claims(iss="other"),
    "of a game that is not there": lambda: _claims(iss="nowhere"),
    "of no game": lambda: _claims(iss=...),
    "of null": lambda: _claims(iss=None),
    "of a list": lambda: _claims(iss=["arena"]),
    "of an object": lambda: _claims(iss={"arena": 1}),
    "of a number": lambda: _claims(iss=7),
    "of a NUL": lambda: _claims(iss="arena\0"),
    "of half a character": lambda: _raw_claims(iss='"\\ud800"'),
    "of a very long game": lambda: _claims(iss="arena" * 500),
    "of a path": lambda: _claims(iss="../arena"),
    "for nobody": lambda: _claims(sub=...),
    "for null": lambda: _claims(sub=None),
    "for a number": lambda: _claims(sub=17),
    "for a list": lambda: _claims(sub=["p-1"]),
    "for an empty id": lambda: _claims(sub=""),
    "for 65 characters": lambda: _claims(sub="p" * 65),
    "for a NUL": lambda: _claims(sub="p\0"),
    "for a line break": lambda: _claims(sub="p\n1"),
    "for half a character": lambda: _raw_claims(sub='"\\ud800"'),
    "for what nobody sees": lambda: _claims(sub="p\u200b"),
    "of no type": lambda: _claims(typ=...),
    "of another type": lambda: _claims(typ="attempt"),
    "of a list of types": lambda: _claims(typ=["player"]),
    "claims a list": list,
    "claims a text": lambda: "player",
    "claims null": lambda: b"null",
    "claims no JSON": lambda: b"{",
    "claims no UTF-8": lambda: b"\xff\xfe",
    "claims deep": lambda: b"[" * 2500,
    "claims deep and closed": lambda: b'{"a":' * 500 + b"1" + b"}" * 500,
    "claims 5,000 characters": lambda: _claims(padding="x" * 5000),
}


@pytest.mark.parametrize("claims", BAD_CLAIMS.values(), ids=BAD_CLAIMS.keys())
def test_a_token_whose_claims_are_not_good_is_refused_though_its_signature_is(
    api: ApiClient, arena: Game, claims: Any
) -> None:
    make_game("other")
    make_player(arena, "p-1")
    answer = api.get(PLAYER, credential=_signed(arena, claims()))
    assert told(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_tokens_that_are_refused_differ_from_a_good_one_in_that_one_thing(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    for token in (_signed(arena, _claims()), _signed(arena, _raw_claims()), _signed(arena, _claims(iat=...))):
        assert api.get(f"{PLAYER}/export", credential=token).status_code == 200


def _forged(game: Game) -> dict[str, str]:
    good = _signed(game, _claims())
    head, claims, signature = good.split(".")
    return {
        "alg none": f"{_part({'alg': 'none', 'typ': 'JWT'})}.{claims}.",
        "alg None": f"{_part({'alg': 'None'})}.{claims}.{signature}",
        "alg missing": _signed(game, _claims(), {"typ": "JWT"}),
        "alg a list": _signed(game, _claims(), {"alg": ["HS256"]}),
        "alg null": _signed(game, _claims(), {"alg": None}),
        "alg RS256": _signed(game, _claims(), {"alg": "RS256"}),
        "alg HS512": _signed(game, _claims(), {"alg": "HS512"}, hashed=hashlib.sha512),
        "a critical extension": _signed(game, _claims(), {"alg": "HS256", "crit": ["x"], "x": 1}),
        "an unencoded payload": _signed(game, _claims(), {"alg": "HS256", "b64": False, "crit": ["b64"]}),
        "a deep header": _signed(game, _claims(), b"[" * 2500),
        "a header that is a list": _signed(game, _claims(), ["HS256"]),
        "a kid that is a path": f"{_part({'alg': 'HS256', 'kid': '/dev/null'})}.{claims}.{signature}",
        "another signature": f"{head}.{claims}.{_part(b'x' * 32)}",
        "no signature": f"{head}.{claims}.",
        "two parts": f"{head}.{claims}",
        "five parts": f"{good}.a.b",
        "dots": "..",
        "not base64": "a.ä.b",
        "5,000 characters": "a" * 5000,
        "100 kB": "a" * 100_000,
        "a key with more": "rung_00000000_" + "0" * 48 + "\u0660",
        "a key with a NUL": "rung_\0",
        "Latin-1": "\xff\xfe",
        "two": f"{good} {good}",
        "two, with a comma": f"{good},{good}",
    }


def test_a_forged_token_is_refused_whatever_its_header_says(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    for name, token in _forged(arena).items():
        answer = api.get(PLAYER, headers={"Authorization": f"Bearer {token}".encode("latin-1", "replace")})
        assert told(answer) == (401, "unauthenticated"), name


def test_another_games_secret_signs_nothing_here(api: ApiClient, arena: Game) -> None:
    make_player(arena, "p-1")
    other = make_game("other")
    assert told(api.get(PLAYER, credential=_signed(other, _claims()))) == (401, "unauthenticated")


# --- on a real port ------------------------------------------------------------------------------------------------


def _send(web: Web, *pieces: bytes, then_close: bool = False) -> bytes:
    """Everything that is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            if then_close:
                return b""
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        except (ConnectionResetError, BrokenPipeError):
            received = b""  # refused without a word
        return received


def _request(target: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _parsed(received: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    return int(first.split()[1]), headers, body


RAW_TARGETS = [
    b"/v1/games/%ff%fe",
    b"/v1/games/%c0%af",
    b"/v1/games/%ed%a0%80",
    b"/v1/games/%00",
    b"/v1/games/%",
    b"/v1/games/%zz",
    b"/v1/games/%2e%2e%2f",
    b"/v1/games/../../admin",
    b"/v1/games/arena/../arena2",
    b"/v1//games",
    b"//v1/games",
    b"/v1/games/",
    b"/v1/games/arena%2Fplayers%2Fp-1",
    b"/v1/games/arena/players/a%2Fb",
    b"/v1/games/arena/players/..",
    b"/v1/games/arena/players/%0d%0aX-Evil:%201",
    b"/v1/games/" + b"a" * 10_000,
    b"/v1/" + b"a/" * 5_000,
    b"/v1/games/arena;x=1",
    b"/v1/games/\xff\xfe",
    b"/v1/games/<script>",
]


def test_no_address_however_odd_is_more_than_not_found(web: Web) -> None:
    make_game("arena")
    for target in RAW_TARGETS:
        status, headers, body = _parsed(_send(web, _request(target)))
        assert status in {400, 404}, (target[:60], status)
        assert b"x-evil" not in headers
        if b"x-request-id" in headers:  # a line that is not HTTP is refused before it is a request
            assert b"html" not in headers.get(b"content-type", b"") or target.startswith(b"//"), target[:60]
        if headers.get(b"content-type") == b"application/problem+json":
            assert json.loads(body)["status"] == status


def test_what_is_not_http_is_refused_and_the_next_call_served(web: Web) -> None:
    make_game("arena")
    for received in (
        _send(web, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        _send(web, b"GET /v1/games HTTP/9.9\r\n\r\n"),
        _send(web, b"GET /v1/games\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        _send(web, _request(b"/v1/games", b"X-A: a\x00b")),
        _send(web, _request(b"/v1/games", b"X A: b")),
        _send(web, _request(b"/v1/games", b"Content-Length: -1", method=b"PUT")),
        _send(web, _request(b"/v1/games", b"Content-Length: 1e3", method=b"PUT")),
        _send(web, _request(b"/v1/games", b"Content-Length: 3", b"Content-Length: 4", method=b"PUT") + b"{}  "),
        _send(web, _request(b"/v1/games", b"Transfer-Encoding: chunked", method=b"PUT") + b"zz\r\n{}\r\n0\r\n\r\n"),
        _send(web, _request(b"/v1/games", b"Authorization: Bearer " + b"a" * 100_000)),
        _send(web, _request(b"/v1/games", b"X-Long: " + b"a" * 1_000_000)),
        _send(web, _request(b"/v1/games", *[b"X-%d: a" % number for number in range(1000)])),
    ):
        assert not received or 400 <= _parsed(received)[0] < 500, received[:300]
        assert httpx.get(f"{web.origin}/v1/games/arena").status_code == 200


def test_a_request_id_cannot_put_a_header_or_a_line_anywhere(web: Web) -> None:
    make_game("arena")
    for offered in (b"a\r\n b: c", b"a\rSet-Cookie: b=c", b"\xc3\xa4", b"a" * 1024, b"a\x1b[31m", b"a%0aforged"):
        received = _send(web, _request(b"/v1/games/arena", b"X-Request-Id: " + offered))
        if received and b"x-request-id" in _parsed(received)[1]:
            status, headers, _ = _parsed(received)
            assert status in {200, 400}
            assert len(headers[b"x-request-id"]) == 32
            assert b"set-cookie" not in headers


def test_a_body_in_chunks_is_read_like_any_other_and_bounded_like_any_other(web: Web) -> None:
    key = make_key(make_game("arena"))
    said = [f"Authorization: Bearer {key}".encode(), b"Content-Type: application/json", b"Transfer-Encoding: chunked"]
    begin = _request(PLAYER.encode(), *said, method=b"PUT")
    body = b'{"display_name": "Nova"}'
    pieces = [b"1\r\n" + body[at : at + 1] + b"\r\n" for at in range(len(body))]
    status, _, answer = _parsed(_send(web, begin, *pieces, b"0\r\n\r\n"))
    assert (status, json.loads(answer)["display_name"]) == (201, "Nova")
    piece = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    received = _send(web, begin, *[piece] * 9, b"0\r\n\r\n")
    assert not received or _parsed(received)[0] == 413
    declared = _request(PLAYER.encode(), said[0], said[1], b"Content-Length: 99999999999", method=b"PUT")
    status, headers, _ = _parsed(_send(web, declared))
    assert (status, headers[b"content-type"]) == (413, b"application/problem+json")
    assert httpx.get(f"{web.origin}{PLAYER}").json()["display_name"] == "Nova"


def test_a_caller_who_hangs_up_half_way_changes_nothing_and_disturbs_nobody(web: Web) -> None:
    key = make_key(make_game("arena"))
    said = [f"Authorization: Bearer {key}".encode(), b"Content-Type: application/json"]
    for number in range(30):
        begin = _request(PLAYER.encode(), *said, b"Content-Length: 1000", method=b"PUT")
        _send(web, begin, b'{"display_name": "N'[: number % 19], then_close=True)
        _send(web, begin[: number * 5], then_close=True)
    assert httpx.get(f"{web.origin}{PLAYER}").status_code == 404
    assert httpx.get(f"{web.origin}/readyz").status_code == 200
    assert "request_failed" not in web.said()


def test_nothing_that_is_sent_forges_a_line_in_the_log(web: Web) -> None:
    make_game("arena")
    for line_break in (b"%0A", b"%0D%0A", b"%E2%80%A8", b"%C2%85", b"%1B%5B2J"):
        forged = line_break + b"2026-01-01T00:00:00Z [info] FORGED".replace(b" ", b"%20")
        _send(web, _request(b"/v1/games/arena/players/" + forged))
        _send(web, _request(b"/v1/" + forged, b"User-Agent: FORGED", b"Referer: FORGED"))
        _send(web, _request(b"/v1/games/arena", b"Authorization: Bearer \x85FORGED\x1b[2J"))
        _send(web, _request(b"/v1/games/arena", b"Host: \x85FORGED"))
    said = web.said()
    assert "\x1b" not in said
    lines = [line for line in said.splitlines() if "FORGED" in line]
    assert lines
    assert not [line for line in lines if line.startswith(("2026-01-01", "FORGED", " "))]
