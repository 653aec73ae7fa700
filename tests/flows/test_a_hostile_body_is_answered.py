"""A body that makes no sense is refused in the contract's words, whatever it is made of and however it is sent."""

from typing import Any

import pytest

from config import wire
from config.bodies import MEBIBYTE
from config.errors import InvalidRequest
from players.models import Player
from tests.arena import MODE, PLAYER
from tests.client import JSON, ApiClient, told

SCORES = "/v1/games/arena/scores"

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
            wire.decode(body, Any)


def test_of_a_key_that_is_there_twice_the_last_counts(api: ApiClient, key: str) -> None:
    body = b'{"display_name": "Nova", "display_name": "Vega"}'
    assert api.put(PLAYER, credential=key, content=body, headers=JSON).json()["display_name"] == "Vega"


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
        "application/json; charset=rot13",
        'application/json; Charset = "undefined"; x=1',
        "application/json; charset=idna",
    ],
)
def test_json_is_utf_8_whatever_charset_is_claimed(api: ApiClient, key: str, content_type: str) -> None:
    body = '{"display_name": "Нова"}'.encode()
    answer = api.put(PLAYER, credential=key, content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, answer.json()["display_name"]) == (201, "Нова")


@pytest.mark.parametrize("charset", ["rot13", "undefined", "idna", "base64", "utf-7", "latin-1", '"rot13"'])
def test_an_address_is_utf_8_whatever_charset_is_claimed(api: ApiClient, key: str, charset: str) -> None:
    """Also where there is no body at all."""
    for kind in (f"text/plain; charset={charset}", f"text/plain;CHARSET = {charset} ;x=1"):
        answer = api.get("/v1/games/arena/modes/solo/activity?limit=1&x=%C3%A4", headers={"Content-Type": kind})
        assert answer.status_code < 500, (charset, answer.status_code)
        assert api.get("/?x=%C3%A4", headers={"Content-Type": kind}).status_code == 200


@pytest.mark.parametrize(("method", "path", "most"), [("PUT", PLAYER, 2 * MEBIBYTE), ("POST", SCORES, 8 * MEBIBYTE)])
def test_a_body_of_more_than_the_most_is_too_large_and_one_of_less_is_looked_at(
    api: ApiClient, key: str, method: str, path: str, most: int
) -> None:
    """2 MiB, and 8 MiB where scores are sent."""
    for length, refusal in ((most + 1, (413, "payload_too_large")), (most, (400, "invalid_request"))):
        assert told(api(method, path, credential=key, content=b" " * length, headers=JSON)) == refusal
