"""Odd values: texts, numbers, moments, JSON and bytes that no well-meaning caller sends."""

from random import Random
from typing import Any
from urllib.parse import quote, quote_from_bytes

TEXTS = [
    "",
    " ",
    "0",
    "-1",
    "null",
    "None",
    "true",
    "[]",
    "{}",
    "x" * 65,
    "x" * 300,
    "9" * 30,
    "\x00",
    "a\x00b",
    "\ud800",
    "a\udfffb",
    "\u202egnp.exe",
    "e\u0301" * 20,
    "\u200b",
    "z\u200dw",
    "\ufeffbom",
    "\U0001f3f4\u200d\u2620\ufe0f",
    "ﷺ",
    "İ",
    "ß",
    "١٢٣",
    "²",
    "a\r\nb",
    "\t",
    "\x7f",
    "\u2028",
    "../../etc/passwd",
    "..",
    ".",
    "/",
    "//",
    "%",
    "%s",
    "%(x)s",
    "{0.__class__}",
    "{{ 7 }}",
    "' OR 1=1 --",
    '"><script>',
    "\\",
    "$",
    "__proto__",
    "player__game__x",
    "=1+1",
    "1;2",
    "1,2",
    ",",
    "_5F",
    "_0A_",
    "javascript:alert(1)",
    "http://[::1",
    "//evil.example/",
    "http://127.0.0.1:99999/",
]
NUMBERS = [
    "0",
    "-0",
    "-1",
    "1.5",
    "1e400",
    "-1e400",
    "1e-400",
    "NaN",
    "Infinity",
    "-inf",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "1" + "0" * 400,
    "0x10",
    "1_000",
    "+1",
    " 1 ",
    "1e5",
    "1e99999999",
    "0.1e1",
    "000001",
    "٣",
    "१",
]
MOMENTS = [
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-23:59",
    "10000-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00+00:00:30",
    "2026-01-01",
    "2026-W01-1",
    "0001-01-01",
    "9999-12-31",
    "1582-10-10",
    "23:59:60",
    "1e10",
    "now",
    "1970-01-01 00:00:00",
    "2026-03-29T02:30",
]
# as they stand in JSON: some are none
JSON_TEXTS = [
    *("null", "true", "false", "[]", "{}", '""', "0", "-1", "1.5", "NaN", "Infinity", "-Infinity", "1e400", "-1e400"),
    *("9223372036854775808", "-9223372036854775809", "1" + "0" * 400, "0.1e-400", "-0", "01", "1.", "'a'", "undefined"),
    *('"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\x"', '"', "{", "]", ",", '{"a":1,"a":2}', "[[]]", "[null]"),
    *(
        '{"":""}',
        '{"\\u0000":1}',
        '"' + "x" * 3000 + '"',
        "[" * 40 + "]" * 40,
        "[" * 2000,
        '{"a":' * 200 + "1" + "}" * 200,
    ),
    *("1" + "0" * 5000, '"\x01"', "/*c*/1", '{"$ref":"#"}', "1e9999999999", "[" + "1," * 500 + "1]"),
]
BYTES = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00", b"\xef\xbb\xbf", b"\xfe\xff\x00a"]


def odd_text(rng: Random) -> str:
    """Any text that a field or an address may bring."""
    kind = rng.random()
    if kind < 0.55:
        return rng.choice(TEXTS)
    if kind < 0.75:
        return rng.choice(NUMBERS)
    if kind < 0.9:
        return rng.choice(MOMENTS)
    return "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0x10FFFF)))) for _ in range(rng.randrange(1, 12)))


def escaped(text: str) -> str:
    """Percent-encoded, also what no encoding knows."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def odd_escaped(rng: Random) -> str:
    """Part of an address: percent-encoded in most cases, well or not."""
    kind = rng.random()
    if kind < 0.8:
        return escaped(odd_text(rng))
    if kind < 0.9:
        return quote_from_bytes(rng.choice(BYTES))
    return rng.choice(
        ["%", "%zz", "%2f", "%2F..%2f", "%25", "%0d%0a", "+", "a+b", "%u0041", ";", "@", ":", "~", "!*'()"]
    )


def mutate_bytes(rng: Random, body: bytes) -> bytes:
    """The same body, broken somewhere."""
    at = rng.randrange(len(body) + 1)
    match rng.randrange(7):
        case 0:
            return body[:at]
        case 1:
            return body[:at] + rng.choice(BYTES) + body[at:]
        case 2:
            return body + body
        case 3:
            return rng.choice(BYTES) + body
        case 4:
            return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]
        case 5:
            return b"[" + body + b"]"
        case _:
            return b""


def broken_at(rng: Random, tree: Any, mark: str) -> Any:
    """The same tree with one node replaced by the mark, renamed, taken out or repeated."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        name = rng.choice(list(tree))
        return _broken_member(rng, tree, name, mark)
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        at = rng.randrange(len(tree))
        return [*tree[:at], broken_at(rng, tree[at], mark), *tree[at + 1 :]]
    return mark


def _broken_member(rng: Random, tree: dict[str, Any], name: str, mark: str) -> dict[str, Any]:
    kind = rng.random()
    rest = {other: value for other, value in tree.items() if other != name}
    if kind < 0.1:
        return rest
    if kind < 0.15:
        return rest | {odd_text(rng): tree[name]}
    if kind < 0.2:
        return tree | {odd_text(rng): mark}
    return tree | {name: broken_at(rng, tree[name], mark)}
