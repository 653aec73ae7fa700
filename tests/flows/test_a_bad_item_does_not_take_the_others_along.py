"""A batch takes what is good and names what is not, one by one; nothing of another game is touched or told by it."""

import json
import random
import tracemalloc
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import connection
from django.utils import timezone

from leaderboards.models import Mode, Outbox
from players.models import Ban, Game, Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SCORES = "/v1/games/arena/scores"
BOARD = "/v1/games/arena/modes/solo/leaderboards/alltime"
FORMATS = ["application/json", "application/x-ndjson"]
ITEMS, BAD, PLAYERS = 10_000, 100, 3300
LARGEST = 8 * 1024 * 1024
RULES = {"aggregation": "sum", "min_score": 0, "max_score": 1000, "max_total": 10**6}

FIELDS: list[tuple[dict[str, object], str]] = [  # of an item that is good otherwise
    *(({"score": score}, "score_out_of_bounds") for score in (1001, -1, 0.5, 2**60, 1e300)),
    *(({"score": score}, "score_out_of_bounds") for score in ("1e999999", "1001", "-1", 1e300)),
    *(
        ({"score": score}, "invalid_request")
        for score in (None, True, [], {}, "", "abc", "0x10", "NaN", "Infinity", "-inf")
    ),
    *(({"mode": mode}, "mode_not_found") for mode in ("nope", "theirs", "", "SOLO", "solo ")),
    *(({"mode": mode}, "invalid_request") for mode in (7, None, "m" * 129)),
    *(({"player_id": player}, "invalid_request") for player in ("", "a/b", "..", " p", "x" * 65, "a\u200bb", 7, None)),
    ({"player_id": "nul \0"}, "invalid_request"),
    ({"player_id": "banned"}, "player_banned"),
    ({"player_id": "p-0", "attempt_id": "00000000-0000-4000-8000-000000000000"}, "attempt_conflict"),
    *(({"attempt_id": attempt}, "invalid_request") for attempt in ("nope", 7, None)),
    *(({"achieved_at": at}, "time_out_of_range") for at in ("2999-01-01T00:00:00Z", "0001-01-01T00:00:00Z")),
    *(({"achieved_at": at}, "time_out_of_range") for at in ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59")),
    *(({"achieved_at": at}, "invalid_request") for at in ("2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "now", 5)),
    ({"mode": "closed"}, "mode_inactive"),
    ({"mode": "today", "achieved_at": "2001-01-01T00:00:00Z"}, "window_closed"),
    *(({"dimensions": given}, "invalid_request") for given in ({"planet": "x"}, {"country": "DE"}, {"level": "a b"})),
    *(({"dimensions": given}, "invalid_request") for given in ({"level": 7}, {"level": None}, "level", {"level": "9"})),
    *(({"metadata": given}, "invalid_request") for given in ("x" * 2100, {"a": "\0"})),
    *(({"client": given}, "invalid_request") for given in ({"address": 5}, {"shoe_size": "44"}, "x")),
    ({"scrore": 1}, "invalid_request"),
]
BYTES = [  # no item at all
    *(b"7", b"null", b'"solo"', b"[]", b"{}", b"[{}]", b"true"),
    b'{"mode": "solo", "player_id": "bad"}',
    b'{"mode": "solo", "score": 5}',
    b'{"player_id": "bad", "score": 5}',
    b'{"mode": "solo", "player_id": "bad", "score": 5, "metadata": {"a": 1e999}}',
    b'{"mode": "solo", "player_id": "bad \xff", "score": 5}',
    b'{"mode": "solo", "player_id": "bad", "score": 5, "metadata": ' + b"[" * 300 + b"]" * 300 + b"}",
]
LINES = [  # not even JSON that can be read: a line of its own can be so, a part of a body of JSON cannot
    b'{"mode": "solo", "player_id": "half \\ud800", "score": 5}',
    b'{"mode": "solo", "player_id": "bad", "score": 5, "metadata": {"a": "\\ud800"}}',
    b'{"mode": "solo", "player_id": "bad", "score": 5, "metadata": ' + b"[" * 9000 + b"]" * 9000 + b"}",
    *(b"{", b"nonsense", b"\xff\xfe", b"\x00", b'{"mode": "solo", "player_id": "bad", "score": 5} {}'),
    *(b'{"mode": "solo", "player_id": "bad", "score": %s}' % score for score in (b"NaN", b"Infinity", b"-Infinity")),
]


@pytest.fixture
def solo(arena: Game) -> Mode:
    make_mode(arena, "closed", active=False)
    make_mode(arena, "today", windows=("daily",))
    make_mode(make_game("rivals"), "theirs")
    banned = make_player(arena, "banned")
    Ban.objects.create(player=banned, kind="ban", starts_at=timezone.now() - timedelta(days=1), reason="x")
    return make_mode(arena, dimensions=("country", "level"), values={"level": ("1",)}, **RULES)


def _send(api: ApiClient, key: str, items: list[bytes], media_type: str) -> httpx.Response:
    body = b"\n".join(items) if media_type == FORMATS[1] else b'{"scores": [' + b",".join(items) + b"]}"
    return api("POST", SCORES, credential=key, content=body, headers={"Content-Type": media_type})


def _good(number: int, **fields: object) -> bytes:
    score = {"mode": "solo", "player_id": f"p-{number % PLAYERS}", "score": number % 1001, **fields}
    return json.dumps(score).encode()


def _bad(media_type: str) -> list[tuple[bytes, str]]:
    """Each with the code that it is refused with; each kind at least once."""
    kinds = [(_good(0, **{"player_id": "bad", **fields}), code) for fields, code in FIELDS]
    kinds += [(raw, "invalid_request") for raw in BYTES + (LINES if media_type == FORMATS[1] else [])]
    assert len(kinds) <= BAD
    return (kinds * 2)[:BAD]


def _logged() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM score_attempts WHERE mode_id IN (SELECT id FROM leaderboards_mode)")
        return int(cursor.fetchone()[0])


def _listed(api: ApiClient, path: str = BOARD) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    page = api.get(f"{path}?limit=1000").json()
    while True:
        entries += page["entries"]
        if page["next_cursor"] is None:
            return entries
        page = api.get(f"{path}?limit=1000&cursor={page['next_cursor']}").json()


@pytest.mark.parametrize("media_type", FORMATS)
def test_of_ten_thousand_the_good_are_in_and_the_bad_are_named(
    api: ApiClient, solo: Mode, key: str, media_type: str
) -> None:
    bad = _bad(media_type)
    chance = random.Random(11)  # noqa: S311 - the same ones each time
    where = dict(zip(sorted(chance.sample(range(2, ITEMS), BAD)), chance.sample(bad, BAD), strict=True))
    first = _good(0, score=1, attempt_id="00000000-0000-4000-8000-000000000000")
    items = [first, _good(1, dimensions={"level": "1"}), *map(_good, range(2, ITEMS))]
    for index, (raw, _) in where.items():
        items[index] = raw
    answer = _send(api, key, items, media_type)
    assert answer.status_code == 202, answer.text
    found = answer.json()
    named = {error["index"]: error["code"] for error in found["errors"]}
    assert named == {index: code for index, (_, code) in where.items()}
    assert list(named) == sorted(named)
    assert (found["accepted"], found["duplicates"], found["rejected"]) == (ITEMS - BAD, 0, BAD)
    taken = [(n, n % 1001 if n else 1) for n in range(ITEMS) if n not in where]
    totals: dict[str, int] = {}
    for number, score in taken:
        totals[f"p-{number % PLAYERS}"] = totals.get(f"p-{number % PLAYERS}", 0) + score
    assert _logged() == len(taken)
    assert set(Player.objects.values_list("player_id", flat=True)) == totals.keys() | {"banned"}
    drain(solo)
    assert {entry["player_id"]: entry["score"] for entry in _listed(api)} == totals
    assert api.get(BOARD).json()["total"] == len(totals)
    assert not Outbox.objects.exists()
    assert list(Mode.objects.filter(first_score_at__isnull=False)) == [solo]


@pytest.mark.parametrize("media_type", FORMATS)
def test_a_batch_of_bad_ones_only_stores_nothing(api: ApiClient, solo: Mode, key: str, media_type: str) -> None:
    kinds = [one for one in _bad(media_type) if one[1] != "attempt_conflict" and b'"level"' not in one[0]]
    answer = _send(api, key, [raw for raw, _ in kinds], media_type)
    assert answer.status_code == 202
    assert [(error["index"], error["code"]) for error in answer.json()["errors"]] == [
        (index, code) for index, (_, code) in enumerate(kinds)
    ]
    assert all(error["detail"] for error in answer.json()["errors"])
    assert (_logged(), Player.objects.get().player_id) == (0, "banned")
    assert not Outbox.objects.exists()
    assert not Mode.objects.filter(first_score_at__isnull=False).exists()


def test_a_mode_of_another_game_is_as_one_that_does_not_exist(api: ApiClient, solo: Mode, key: str) -> None:
    details = []
    for mode in ("theirs", "nobody"):
        items = [_good(0, mode=mode), _good(0, mode=mode, score="abc"), _good(0, mode=mode, score=-1)]
        answer = _send(api, key, items, FORMATS[0]).json()
        details.append([(one["index"], one["code"], one["detail"].replace(mode, "…")) for one in answer["errors"]])
    assert details[0] == details[1]
    assert [code for _, code, _ in details[0]] == ["mode_not_found", "invalid_request", "mode_not_found"]
    assert not any("rivals" in detail for _, _, detail in details[0])


def test_a_player_of_another_game_is_another_player(api: ApiClient, solo: Mode, key: str) -> None:
    other = Game.objects.get(slug="rivals")
    theirs, their_key, attempt = make_mode(other, **RULES), make_key(other), str(uuid4())
    make_player(other, "p-1", display_name="Nova", country="DE", region="eu")
    locked_out = make_player(other, "p-2", display_name="Rex")
    scores = {"scores": [{"mode": "solo", "player_id": "p-1", "score": 700, "attempt_id": attempt}]}
    assert api("POST", "/v1/games/rivals/scores", credential=their_key, json=scores).json()["accepted"] == 1
    Ban.objects.create(player=locked_out, kind="ban", starts_at=timezone.now() - timedelta(days=1), reason="x")
    drain(theirs)

    def over_there() -> Any:
        stored = list(Player.objects.filter(game=other).order_by("pk").values())
        return stored, api.get("/v1/games/rivals/modes/solo/leaderboards/alltime").json()

    before = over_there()
    items = [_good(1, score=5, attempt_id=attempt), _good(2, score=6), _good(1, score=6, attempt_id=attempt)]
    answer = _send(api, key, items, FORMATS[0]).json()
    assert (answer["accepted"], answer["duplicates"]) == (2, 0), "an attempt and a ban over there are none here"
    assert [(one["index"], one["code"]) for one in answer["errors"]] == [(2, "attempt_conflict")]
    assert not any(word in json.dumps(answer) for word in ("Nova", "Rex", "700", other.slug))
    drain(solo)
    drain(theirs)
    shown = [(one["player_id"], one["display_name"], one["country"], one["score"]) for one in _listed(api)]
    assert shown == [("p-2", "p-2", None, 6), ("p-1", "p-1", None, 5)]
    assert over_there() == before


@pytest.mark.parametrize("media_type", FORMATS)
def test_a_batch_has_one_to_ten_thousand_items(api: ApiClient, solo: Mode, key: str, media_type: str) -> None:
    for count in (0, ITEMS + 1):
        answer = _send(api, key, [_good(number) for number in range(count)], media_type)
        assert told(answer) == (400, "invalid_request")
    assert (_logged(), Player.objects.count()) == (0, 1)
    assert _send(api, key, [_good(1)], media_type).json()["accepted"] == 1


@pytest.mark.parametrize("media_type", FORMATS)
def test_a_batch_has_eight_mebibytes_at_most(api: ApiClient, solo: Mode, key: str, media_type: str) -> None:
    frame = 0 if media_type == FORMATS[1] else len(b'{"scores": []}')

    def sized(size: int) -> httpx.Response:
        item = _good(1)
        return _send(api, key, [item.ljust(size - frame)], media_type)

    assert told(sized(LARGEST + 1)) == (413, "payload_too_large")
    assert (_logged(), Player.objects.count()) == (0, 1)
    assert sized(LARGEST).json()["accepted"] == 1


@pytest.mark.parametrize("line", [b"1\n", b"\n", b"1\n \n"])
def test_millions_of_lines_are_refused_in_less_memory_than_they_take_themselves(
    api: ApiClient, solo: Mode, key: str, line: bytes
) -> None:
    body = line * (LARGEST // len(line))
    tracemalloc.start()
    try:
        answer = api("POST", SCORES, credential=key, content=body, headers={"Content-Type": FORMATS[1]})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told(answer) == (400, "invalid_request")
    assert most < LARGEST


def _full(head: bytes, part: bytes, tail: bytes, size: int = LARGEST) -> bytes:
    """A body as long as it may be: `part` after `part`, with commas between them."""
    return head + b",".join([part] * ((size - len(head) - len(tail)) // (len(part) + 1))) + tail


_NAMES = b",".join(b'"%x":""' % number for number in range(700_000))
TINY = {  # a batch of too many
    "numbers": _full(b'{"scores":[', b"1", b"]}"),
    "objects": _full(b'{"scores":[', b"{}", b"]}"),
    "arrays": _full(b'{"scores":[', b"[[]]", b"]}"),
    "scores": _full(b'{"scores":[', b'{"mode":"m","score":1}', b"]}"),
    "numbers far apart": _full(b'\n{ "scores"\t: [ ', b" 1\n", b" ] }"),
    "numbers after an empty batch": _full(b'{"scores":[],"scores":[', b"1", b"]}"),
    "no numbers, only room": b'{"scores":[' + b" " * (LARGEST - 13) + b"]}",
}
STUFFED = {  # an item that holds too much
    "a score of arrays": _full(b'{"mode":"solo","score":[', b"[]", b"]}", LARGEST - 20),
    "a score of deep arrays": _full(b'{"mode":"solo","score":[', b"[" * 300 + b"]" * 300, b"]}", LARGEST - 20),
    "a score of objects": _full(b'{"mode":"solo","score":[', b'{"a":{}}', b"]}", LARGEST - 20),
    "dimensions": b'{"mode":"solo","score":1,"dimensions":{' + _NAMES + b"}}",
}


def _most_memory(api: ApiClient, path: str, key: str, body: bytes, media_type: str) -> tuple[httpx.Response, int]:
    tracemalloc.start()
    try:
        answer = api("POST", path, credential=key, content=body, headers={"Content-Type": media_type})
        return answer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("body", TINY.values(), ids=TINY.keys())
def test_millions_of_items_are_refused_before_they_are_in_memory(
    api: ApiClient, solo: Mode, key: str, body: bytes
) -> None:
    answer, most = _most_memory(api, SCORES, key, body, FORMATS[0])
    assert told(answer) == (400, "invalid_request")
    assert most < 2 * LARGEST


@pytest.mark.parametrize("item", STUFFED.values(), ids=STUFFED.keys())
@pytest.mark.parametrize("media_type", FORMATS)
def test_an_item_of_millions_of_values_is_refused_before_they_are_in_memory(
    api: ApiClient, solo: Mode, key: str, item: bytes, media_type: str
) -> None:
    body = item if media_type == FORMATS[1] else b'{"scores":[' + item + b"]}"
    answer, most = _most_memory(api, SCORES, key, body, media_type)
    assert (answer.status_code, answer.json()["rejected"]) == (202, 1)
    assert answer.json()["errors"][0]["code"] == "invalid_request"
    assert most < 4 * LARGEST


def test_many_items_of_many_values_are_decoded_one_after_the_other(api: ApiClient, solo: Mode, key: str) -> None:
    names = b",".join(b'"%x":""' % number for number in range(6000))
    item = b'{"mode":"solo","score":1,"dimensions":{' + names + b"}}"
    items = [item] * ((LARGEST - 20) // (len(item) + 1))
    answer, most = _most_memory(api, SCORES, key, b'{"scores":[' + b",".join(items) + b"]}", FORMATS[0])
    assert answer.json()["rejected"] == len(items)
    assert most < 3 * LARGEST


def test_other_bodies_of_millions_of_values_are_refused_before_they_are_in_memory(
    api: ApiClient, solo: Mode, key: str
) -> None:
    less = LARGEST // 4
    bodies = {
        "/v1/games/arena/modes/solo/scores": _full(b'{"player_id":"p","score":[', b"[[[[]]]]", b"]}"),
        f"{BOARD}/lookup": _full(b'{"player_ids":[', b'"a"', b"]}", less),
        "/v1/games/arena/modes/solo/attempts": _full(b'{"player_id":"p","cap":[', b"[[[[]]]]", b"]}", less),
    }
    for path, body in bodies.items():
        answer, most = _most_memory(api, path, key, body, FORMATS[0])
        assert told(answer) == (400, "invalid_request"), path
        assert most < LARGEST * 3 // 2, path


def test_metadata_of_many_values_each_takes_no_score_away(api: ApiClient, solo: Mode, key: str) -> None:
    items = [_good(number, metadata=[number] * 400) for number in range(1000)]
    answer = _send(api, key, items, FORMATS[0])
    assert (answer.json()["accepted"], _logged()) == (1000, 1000)
