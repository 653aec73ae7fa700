"""A score that makes no sense is refused in the contract's words, one or among many, and leaves nothing behind."""

import gzip
import json
import zlib
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest
from django.db import connection

from leaderboards.models import Mode, Outbox
from leaderboards.projection import DimensionValue
from players.models import Game, Player
from tests.client import JSON, ApiClient, told
from tests.factories import make_mode, make_player, make_token
from tests.live import Web

ONE = "/v1/games/arena/modes/solo/scores"
MANY = "/v1/games/arena/scores"
NDJSON = {"Content-Type": "application/x-ndjson"}
MOST = 8 * 1024 * 1024
LEFT_OUT = ""
NAME = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
INVALID, BOUNDS, TIME = (400, "invalid_request"), (422, "score_out_of_bounds"), (422, "time_out_of_range")
Fields = dict[str, str]  # as they are written, so that what no JSON library would write can be sent


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def of_size(size: int) -> str:
    """An object of exactly so many bytes."""
    return '{"a":"' + "x" * (size - 8) + '"}'


def texts(*values: str) -> list[str]:
    return [json.dumps(value) for value in values]


def each(field: str, *values: str) -> Iterator[tuple[str, Fields]]:
    for value in values:
        yield f"{field}: {value[:40] or 'left out'} ({len(value)})", {field: value}


NO_JSON = dict(
    [
        *each("player_id", r'"p\ud800"', r'"\udc00"'),
        *each("metadata", r'"\ud800"', r'{"\udc00": 1}', deep(2000), deep(100_000), "[" * 100_000),
        *each("score", "NaN", "Infinity", "-Infinity", "+5", "05", "5.", ".5", "0x10", "1_000", "１２", "5 5", "--5"),
        *each("metadata", '{"a": NaN}', "{'a': 1}", '{"a": "\x01"}'),
    ]
)
NO_SCORE = dict(
    [
        *each("score", LEFT_OUT, "true", "false", "null", "[]", "[5]", "{}", '{"value": 5}'),
        *each("score", *texts("", " ", " 5", "5 ", " 5 ", "5\n", "\t5", "\u00a05", "\u20285")),
        *each("score", *texts("1_000", "1_0.0_1", "1,5", "1 000", "0x10", "0b1", "1e", "e5", "1e5.5", "--5", "+-5")),
        *each("score", *texts("１２", "٥", "५", "5²", "½", "Ⅻ", "−5", "1．5", "true", "five", "1/2", "(0, (5,), 0)")),
        *each("score", *texts("NaN", "nan", "-NaN", "sNaN", "NaN123", "Infinity", "-Infinity", "inf", "+inf")),
    ]
)
BEYOND = dict(
    [
        *each("score", "1e400", "-1e400", "1e999999", "-1e999999", "1e-999999", "0.5", "5.0000001", "-1", "1001"),
        *each("score", *texts("1e400", "1e999999", "-1e999999", "1e-999999", "0.5", "-1", "1001", "9" * 10_000)),
        *each("score", str(2**53), str(2**53 + 1), str(2**63), str(2**64), str(-(2**63)), str(2**64 + 1), "9" * 4000),
        *each("score", *texts(str(2**53 + 1), str(2**63), str(2**64))),
    ]
)
NO_SUBMISSION = dict(
    [
        *each("score", "9" * 10_000, "1e99999999999999999999", '"1e99999999999999999999"'),
        *each(
            "metadata", of_size(2049), of_size(2**20), json.dumps("é" * 1024, ensure_ascii=False), deep(101), deep(500)
        ),
        *each("metadata", r'{"a": "\u0000"}', r'{"\u0000": 1}', r'"\\\u0000"', "1e400", '{"a": [-1e999999]}'),
        *each("client", "5", '"ios"', "[]", "null", '{"ip": "1.2.3.4"}', '{"build": 5}', '{"device": {}}'),
        *each("client", '{"address": "%s"}' % ("a" * 129), r'{"build": "\u0000"}'),
        *each("dimensions", "5", '"level"', "[]", "null", '{"level": 7}', '{"level": null}', '{"level": ["7"]}'),
        *each(
            "dimensions", '{"weapon": "bow"}', '{"": "7"}', '{"Level": "7"}', '{"region": "eu"}', '{"country": "DE"}'
        ),
        *each("dimensions", '{"level": ""}', '{"level": "a b"}', '{"level": "a:b"}', '{"level": "-a"}'),
        *each(
            "dimensions", '{"level": "%s"}' % ("7" * 65), '{"level": "٧"}', r'{"level": "7\n"}', r'{"level": "\u0000"}'
        ),
        *each("dimensions", json.dumps({"level": "7"} | {f"d{n}": "7" for n in range(1000)})),
        *each("player_id", LEFT_OUT, "null", "5", "true", "[]", '["p-1"]', "{}"),
        *each("player_id", *texts("", " ", "p-1 ", "a/b", "a\\b", ".", "..", "p" * 65, "p" * 10_000)),
        *each("player_id", *texts("p\x00", "p\x01", "p\n", "p\x7f", "p\u202e", "p\u200b", "p\u2028", "\ufeffp")),
        *each("attempt_id", "5", "null", "true", "[]", '""', '"nope"', f'"{NAME}0"', f'"{NAME} "'),
        *each("achieved_at", "0", "1775380353", "null", "true", "[]", '""', '"now"', '"2026-04-05"'),
        *each("achieved_at", '"2026-04-05T09:12:33"', '"2026-13-05T09:12:33Z"', '"2026-02-30T09:12:33Z"'),
        *each("achieved_at", '"0000-01-01T00:00:00Z"', '"10000-01-01T00:00:00Z"', '"-0001-01-01T00:00:00Z"'),
        *each("achieved_at", '"2026-04-05T09:12:33+99:00"', '"2026-04-05T09:12:33+24:00"', '"2026-04-05T25:00:00Z"'),
        *each("achieved_at", '"２０２６-04-05T09:12:33Z"', '"1775380353"'),
        *each("attempt_token", "5", "null", "[]", "{}", json.dumps("a" * 4097)),
        *each("nickname", '"Nova"'),
        *each("dimensions", json.dumps({"d" * 100_000: "7"})),
        ("a long field", {"f" * 100_000: "5"}),
        *each("__proto__", "{}"),
        *each("scores", "[]"),
    ]
)
NO_TIME = dict(
    [
        *each("achieved_at", '"9999-12-31T23:59:59Z"', '"9999-12-31T23:59:59-23:59"', '"0001-01-01T00:00:00+23:59"'),
        *each("achieved_at", '"2090-01-01T00:00:00Z"', '"2090-01-01T00:00:00+23:59"'),
    ]
)
ITEMS: dict[str, tuple[Fields, tuple[int, str]]] = {
    name: (fields, expected)
    for group, expected in ((NO_SCORE, INVALID), (BEYOND, BOUNDS), (NO_SUBMISSION, INVALID), (NO_TIME, TIME))
    for name, fields in group.items()
}
BROKEN: dict[str, tuple[Fields, tuple[int, str]]] = {name: (fields, INVALID) for name, fields in NO_JSON.items()}
NOTHING = (0, 0, 0, 0)


@pytest.fixture
def solo(arena: Game) -> Mode:
    return make_mode(arena, min_score=0, max_score=1000, dimensions=("region", "country", "level"))


def kept(mode: Mode) -> tuple[int, int, int, int]:
    """What there is of it: attempts, rows for the boards, players, values of dimensions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM score_attempts WHERE mode_id = %s", [mode.pk])
        attempts: int = cursor.fetchone()[0]
    values = DimensionValue.objects.filter(mode=mode).count()
    return attempts, Outbox.objects.filter(mode=mode).count(), Player.objects.filter(game=mode.game).count(), values


def written(fields: Fields, **more: str) -> bytes:
    whole = {"player_id": '"p-1"', "score": "5"} | more | fields
    return ("{" + ",".join(f'"{name}":{value}' for name, value in whole.items() if value != LEFT_OUT) + "}").encode()


def with_neighbours(*items: Fields) -> list[bytes]:
    """Of a batch, between two that are good."""
    first, last = (written({}, mode='"solo"', player_id=f'"good-{n}"', score=str(n)) for n in (1, 2))
    return [first, *(written(fields, mode='"solo"') for fields in items), last]


def in_a_list(items: list[bytes]) -> bytes:
    return b'{"scores":[' + b",".join(items) + b"]}"


EVERY = ITEMS | BROKEN


@pytest.mark.parametrize(("fields", "expected"), EVERY.values(), ids=EVERY.keys())
def test_alone_it_is_a_problem(
    api: ApiClient, solo: Mode, key: str, *, fields: Fields, expected: tuple[int, str]
) -> None:
    answer = api("POST", ONE, credential=key, content=written(fields), headers=JSON)
    assert told(answer) == expected
    assert len(answer.content) < 4000, "the answer repeats what was sent"
    assert kept(solo) == NOTHING


@pytest.mark.parametrize("lines", [True, False])
def test_among_others_it_is_named_and_the_others_are_in(api: ApiClient, solo: Mode, key: str, *, lines: bool) -> None:
    bad = EVERY if lines else ITEMS  # a list with something broken in it is no list
    items = with_neighbours(*(fields for fields, _ in bad.values()))
    content = b"\n".join(items) if lines else in_a_list(items)
    answer = api("POST", MANY, credential=key, content=content, headers=NDJSON if lines else JSON)
    found = answer.json()
    assert (answer.status_code, found["accepted"], found["rejected"]) == (202, 2, len(bad))
    named = [(name, error["index"], error["code"]) for name, error in zip(bad, found["errors"], strict=True)]
    assert named == [(name, index, code) for index, (name, (_, (_, code))) in enumerate(bad.items(), 1)]
    assert len(answer.content) < 500 * len(bad), "the answer repeats what was sent"
    assert kept(solo) == (2, 1, 2, 0)


@pytest.mark.parametrize("fields", NO_JSON.values(), ids=NO_JSON.keys())
def test_what_makes_a_batch_unreadable_refuses_all_of_it(api: ApiClient, solo: Mode, key: str, fields: Fields) -> None:
    content = in_a_list(with_neighbours(fields))
    assert told(api("POST", MANY, credential=key, content=content, headers=JSON)) == INVALID
    assert kept(solo) == NOTHING


MODES = [LEFT_OUT, "null", "5", "[]", '""', '"nope"', '"SOLO"', r'"so\u0000lo"', '"../solo"', '"%s"' % ("s" * 129)]


def test_an_item_of_no_mode_is_named(api: ApiClient, solo: Mode, key: str) -> None:
    content = in_a_list(with_neighbours(*({"mode": mode} for mode in MODES)))
    found = api("POST", MANY, credential=key, content=content, headers=JSON).json()
    unknown = ["mode_not_found" if mode in MODES[4:7] + MODES[8:9] else "invalid_request" for mode in MODES]
    assert [error["code"] for error in found["errors"]] == unknown
    assert kept(solo) == (2, 1, 2, 0)


@pytest.mark.parametrize(
    "score", ["5", "5.0", "5e0", "0.5e1", "50E-1", *texts("5", "5.", "+5", "005", ".5e1", "5.000", "500e-2")]
)
def test_a_number_is_the_same_however_it_is_written(api: ApiClient, solo: Mode, key: str, score: str) -> None:
    answer = api("POST", ONE, credential=key, content=written({"score": score}), headers=JSON)
    assert (answer.status_code, answer.json()["score"]) == (202, 5)


@pytest.mark.parametrize(
    ("fields", "metadata"),
    [
        ({"metadata": of_size(2048)}, {"a": "x" * 2040}),
        ({"metadata": deep(100)}, json.loads(deep(100))),
        ({"metadata": '{"a": 1, "a": 2}'}, {"a": 2}),
        ({"metadata": r'{"a": "\\u0000 \ud83c\udff9"}'}, {"a": "\\u0000 🏹"}),
        ({"metadata": str(2**64)}, 2**64),
        ({"metadata": "1e20"}, 1e20),
        ({"metadata": "null"}, None),
        ({"metadata": '"%s"' % ("é" * 1023)}, "é" * 1023),
        ({"player_id": '"p-0"', "player_id ": LEFT_OUT, "client": "{}", "dimensions": "{}"}, None),
        ({"client": '{"address": "%s", "build": null}' % ("a" * 128), "dimensions": '{"level": "7"}'}, None),
    ],
)
def test_what_is_at_the_edge_of_the_rules_is_taken_and_kept_as_sent(
    api: ApiClient, solo: Mode, key: str, *, fields: Fields, metadata: object
) -> None:
    answer = api("POST", ONE, credential=key, content=written(fields), headers=JSON)
    assert answer.status_code == 202, answer.text
    sent = answer.json()
    found = api.get(f"/v1/games/arena/players/{sent['player_id']}/attempts/{sent['attempt_id']}", credential=key)
    assert found.json()["metadata"] == metadata


IDS = ["", " ", "nope", "null", "5", f"{NAME}0", f"{NAME}, {NAME}", "0" * 10_000, "\xff" * 36, "*"]
# what Python's UUID() would make one of, and of several the same
IDS += ["+" + "a" * 31, "a_" + "a" * 30, "{" + NAME + "}", f"urn:uuid:{NAME}", f"-{NAME}", f'"{NAME}', f'""{NAME}""']


@pytest.mark.parametrize("name", IDS)
def test_an_idempotency_key_that_is_none_is_refused(api: ApiClient, solo: Mode, key: str, name: str) -> None:
    headers = JSON | {"Idempotency-Key": name}
    encoded = {field: value.encode("latin-1") for field, value in headers.items()}
    assert told(api("POST", ONE, credential=key, content=written({}), headers=encoded)) == INVALID
    assert kept(solo) == NOTHING


def test_what_contradicts_an_attempt_leaves_the_first_as_it_was(api: ApiClient, solo: Mode, key: str) -> None:
    name = str(uuid4())
    fields = {"attempt_id": f'"{name}"', "dimensions": '{"level": "7"}'}
    other = {"Idempotency-Key": str(uuid4())}
    assert told(api("POST", ONE, credential=key, content=written(fields), headers=JSON | other)) == INVALID
    assert kept(solo) == NOTHING
    assert api("POST", ONE, credential=key, content=written(fields), headers=JSON).status_code == 202
    before = kept(solo)
    for change in ({"score": "6"}, {"dimensions": "{}"}, {"achieved_at": '"2026-01-01T00:00:00Z"'}):
        answer = api("POST", ONE, credential=key, content=written(fields | change), headers=JSON)
        assert told(answer) == (409, "attempt_conflict")
        many = in_a_list([written(fields | change, mode='"solo"')])
        found = api("POST", MANY, credential=key, content=many, headers=JSON).json()
        assert [error["code"] for error in found["errors"]] == ["attempt_conflict"]
    assert kept(solo) == before == (1, 1, 1, 1)


def test_a_value_for_which_there_is_no_room_leaves_no_value(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(dimension_values=1)
    for player, level in (("p-1", "7"), ("p-2", "8"), ("p-3", "7")):
        fields = {"player_id": f'"{player}"', "dimensions": f'{{"level": "{level}"}}'}
        answer = api("POST", ONE, credential=key, content=written(fields), headers=JSON)
        assert answer.status_code == 202
        assert answer.json().get("scopes_left_out", []) == (["level:8"] if level == "8" else [])
    assert kept(solo) == (3, 3, 3, 1)


def test_a_value_that_is_not_declared_registers_nobody(api: ApiClient, solo: Mode, key: str) -> None:
    Mode.objects.update(values={"level": ["7"]})
    fields = {"player_id": '"p-2"', "dimensions": '{"level": "8"}'}
    assert told(api("POST", ONE, credential=key, content=written(fields), headers=JSON)) == INVALID
    assert kept(solo) == NOTHING


def test_a_player_submits_for_nobody_else_and_at_no_other_time(api: ApiClient, solo: Mode, arena: Game) -> None:
    Mode.objects.update(submit="open")
    make_player(arena, "p-1")
    token = make_token(arena, "p-1")
    for name in ('"p-2"', '""', "null", '"P-1"', '"p-1 "'):
        assert told(api("POST", ONE, credential=token, content=written({"player_id": name}), headers=JSON)) == INVALID
    assert told(api("POST", MANY, credential=token, content=b"{}", headers=JSON)) == (403, "forbidden")
    assert kept(solo) == (0, 0, 1, 0)
    sent = written({"achieved_at": '"9999-12-31T23:59:59-23:59"', "player_id": LEFT_OUT})
    assert api("POST", ONE, credential=token, content=sent, headers=JSON).json()["player_id"] == "p-1"


WINDOWS = ["", "%00", "..", "a" * 1000, "daily:", "DAILY", "%F0%9F%8F%B9", "daily:%EF%BC%92026-04-05", "{}"]
NO_WINDOWS = [
    "hourly",
    "season",
    "daily:2026-99-99",
    "daily:0000-00-00",
    "daily:9999-12-31",
    "weekly:2026-W99",
    "d:-",
    "daily%0A",
]


@pytest.mark.parametrize(
    ("window", "expected"),
    [*((one, INVALID) for one in WINDOWS), *((one, (404, "window_not_found")) for one in NO_WINDOWS)],
)
def test_a_window_that_is_none_takes_no_score(
    api: ApiClient, solo: Mode, key: str, *, window: str, expected: tuple[int, str]
) -> None:
    answer = api("POST", f"{ONE}?window={window}", credential=key, content=written({}), headers=JSON)
    assert told(answer) == expected
    assert kept(solo) == NOTHING


@pytest.mark.parametrize("preference", ["wait=" + "9" * 5000, "wait=1e9", "wait=", "wait=NaN", "wait=٥", ",;=", "\xff"])
def test_a_preference_that_makes_no_sense_is_none(api: ApiClient, solo: Mode, key: str, preference: str) -> None:
    headers = {name: value.encode() for name, value in (JSON | {"Prefer": preference}).items()}
    assert api("POST", ONE, credential=key, content=written({}), headers=headers).status_code == 202


BODIES = {
    "nothing": b"",
    "blanks": b" \n ",
    "null": b"null",
    "a list": b"[]",
    "a list of scores": b"[" + written({}) + b"]",
    "a number": b"5",
    "a text": b'"scores"',
    "half of it": written({})[:-1],
    "two of it": written({}) * 2,
    "garbage behind": written({}) + b"x",
    "a byte order mark": b"\xef\xbb\xbf" + written({}),
    "UTF-16": written({}).decode().encode("utf-16"),
    "bad UTF-8": written({}).replace(b"p-1", b"p\xff"),
    "half a character": written({}).replace(b"p-1", b"p\xed\xa0\x80"),
    "brackets": b"[" * 100_000,
    "brackets that end": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"score":' * 100_000,
    "no scores": b"{}",
    "an empty batch": b'{"scores": []}',
    "a batch of nothing": b'{"scores": null}',
    "a batch of one": b'{"scores": {}}',
    "a batch and more": b'{"scores": [{}], "mode": "solo"}',
    "more than a batch": b'{"scores": [' + b",".join([b"{}"] * 10_001) + b"]}",
}


@pytest.mark.parametrize("path", [ONE, MANY])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_that_is_no_submission_is_refused(api: ApiClient, solo: Mode, key: str, path: str, body: bytes) -> None:
    assert told(api("POST", path, credential=key, content=body, headers=JSON)) == INVALID
    assert kept(solo) == NOTHING


LINES = {
    "nothing": b"",
    "blank lines": b"\n \n\r\n",
    "too many": b"{}\n" * 10_001,
}


@pytest.mark.parametrize("body", LINES.values(), ids=LINES.keys())
def test_lines_that_are_no_batch_are_refused(api: ApiClient, solo: Mode, key: str, body: bytes) -> None:
    assert told(api("POST", MANY, credential=key, content=body, headers=NDJSON)) == INVALID


def test_a_line_that_is_no_submission_is_named(api: ApiClient, solo: Mode, key: str) -> None:
    bad = [body for name, body in BODIES.items() if name not in ("nothing", "blanks", "UTF-16")]
    first, last = with_neighbours()
    content = b"\r\n\n".join([first, *bad, last])
    answer = api("POST", MANY, credential=key, content=content, headers=NDJSON)
    found = answer.json()
    assert (found["accepted"], found["rejected"]) == (2, len(bad))
    assert {error["code"] for error in found["errors"]} == {"invalid_request"}
    assert kept(solo) == (2, 1, 2, 0)


PACKED = {
    "gzip": gzip.compress(written({})),
    "GZIP": gzip.compress(b" " * 64 * MOST),
    "x-gzip": gzip.compress(written({})),
    "deflate": zlib.compress(written({})),
    "br": b"\x8b\x02\x80{}\x03",
    "gzip, gzip": gzip.compress(gzip.compress(written({}))),
    "identity, gzip": gzip.compress(written({})),
    "nonsense": written({}),
    "gzip ": written({}),
}


@pytest.mark.parametrize(("path", "headers"), [(ONE, JSON), (MANY, JSON), (MANY, NDJSON)])
@pytest.mark.parametrize(("coding", "body"), PACKED.items(), ids=PACKED.keys())
def test_a_packed_body_is_not_unpacked(  # noqa: PLR0913 - four are the case
    api: ApiClient, solo: Mode, key: str, *, path: str, headers: dict[str, str], coding: str, body: bytes
) -> None:
    answer = api("POST", path, credential=key, content=body, headers=headers | {"Content-Encoding": coding})
    assert told(answer) == (415, "unsupported_media_type")
    assert kept(solo) == NOTHING


@pytest.mark.parametrize(
    "media_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/ndjson", "*/*"]
)
@pytest.mark.parametrize("path", [ONE, MANY])
def test_a_body_of_another_kind_is_refused(api: ApiClient, solo: Mode, key: str, path: str, media_type: str) -> None:
    answer = api("POST", path, credential=key, content=written({}), headers={"Content-Type": media_type})
    assert told(answer) == (415, "unsupported_media_type")
    if path == ONE:
        assert told(api("POST", path, credential=key, content=written({}), headers=NDJSON))[0] == 415
    assert kept(solo) == NOTHING


@pytest.mark.parametrize(("path", "headers"), [(ONE, JSON), (MANY, JSON), (MANY, NDJSON)])
def test_a_body_of_more_than_8_mib_is_too_large(
    api: ApiClient, solo: Mode, key: str, path: str, headers: dict[str, str]
) -> None:
    body = written({}) + b" " * MOST
    assert told(api("POST", path, credential=key, content=body, headers=headers)) == (413, "payload_too_large")
    assert kept(solo) == NOTHING


def test_over_a_real_port_it_is_the_same(web: Web, solo: Mode, key: str) -> None:
    before = len(web.said())

    def answers(path: str, content: bytes | Iterator[bytes], **headers: str) -> tuple[int, str]:
        about = (
            JSON | {"Authorization": f"Bearer {key}"} | {name.replace("_", "-"): one for name, one in headers.items()}
        )
        return told(httpx.post(f"{web.origin}{path}", content=content, headers=about, timeout=60))

    for name in ("score: NaN (3)", "metadata: 1e400 (5)", "player_id: left out (0)"):
        assert answers(ONE, written(EVERY[name][0])) == INVALID, name
    for name in ("bad UTF-8", "brackets that end", "half of it", "nothing"):
        assert (answers(ONE, BODIES[name]), answers(MANY, BODIES[name])) == (INVALID, INVALID), name
    for path in (ONE, MANY):
        packed = answers(path, PACKED["GZIP"], Content_Encoding="gzip")
        assert packed == (415, "unsupported_media_type")
        assert answers(path, (b" " * 2**20 for _ in range(9))) == (413, "payload_too_large"), "in chunks"
    assert kept(solo) == NOTHING
    assert "Traceback" not in web.said()[before:]
