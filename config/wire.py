"""How wire types are declared, read and written: msgspec Structs, from which every door and OpenAPI live."""

import re
import threading
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec

from config.errors import InvalidRequest

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]*)`")
_ABSENT = re.compile(r"missing required field `(?P<field>[^`]*)`")

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_alone = threading.Lock()
_LONGEST = 200  # characters of what was sent, in an answer
_UNCOUNTED = 64 * 1024  # bytes; what a shorter body holds is few megabytes at worst
_MOST_VALUES = 100_000  # of a longer body: each takes up to 100 bytes of memory, and as few as one of the body
_MOST_PARAMETERS = 100  # of a query; no address has as many
_registered: list[type] = []
_INSTEAD = "instead"  # msgspec describes a Decimal as a string, whatever it is told; this says what to put there

Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class Exact(Decimal):
    """A number as it was written, in JSON or in a string like `NUMBER`; Decimal itself would read "1_000" and " ٥ "."""


class Incoming(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a caller sends. A field we do not know is refused: a misspelt one must not be lost in silence."""


class Outgoing(msgspec.Struct, kw_only=True):
    """What we answer. May gain fields."""


class Problem(Outgoing, omit_defaults=True):
    """application/problem+json"""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: dict[str, list[str]] | None = None
    retry_after: int | None = None


def decode(body: bytes, to: type[T], *, in_parts: bool = False, bounded: bool = False) -> T:
    """`body` as `to`, or InvalidRequest naming the field. `in_parts`: all in it is `Raw`, and each will be decoded.
    `bounded`: the caller has seen to it that the body holds no more than it may.
    """
    if not in_parts and b"\\" in body and b"\\u0000" in body and _NUL.search(body):  # one byte is found sooner
        raise InvalidRequest("The body contains the character U+0000, which is not allowed anywhere.")
    if not (in_parts or bounded) and len(body) > _UNCOUNTED and _values(body) > _MOST_VALUES:
        raise InvalidRequest(f"The body has more than {_MOST_VALUES:,} values.")
    try:
        return _decoder(to).decode(body)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    except msgspec.DecodeError as error:
        raise InvalidRequest(f"The body is not JSON: {error}.") from None
    except UnicodeDecodeError:  # msgspec lets it through as it is
        raise InvalidRequest("The body is not JSON: it is not UTF-8.") from None
    except RecursionError:
        raise InvalidRequest("The body is nested too deeply.") from None


def convert(value: object, to: type[T], *, strict: bool = True) -> T:
    """The same for what was parsed already (a TOML file)."""
    if _holds_nul(value):
        raise InvalidRequest("The character U+0000 is not allowed anywhere.")
    ready(to)
    try:
        return msgspec.convert(value, to, strict=strict, dec_hook=_own)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None


def uuid(value: object) -> UUID | None:
    """As in a body: in either case, with its four hyphens or with none. Python's own UUID would take one name in many
    spellings: in braces, behind "urn:uuid:", with other hyphens, with "_" or digits of other scripts in it.
    """
    try:
        return msgspec.convert(value, UUID)
    except msgspec.ValidationError:
        return None


class NoQuery(Incoming):
    """Of an address that takes no query parameters."""


def query(text: bytes, to: type[S]) -> S:
    """A query string as `to`. A parameter that we do not know, or that comes twice, must not be lost in silence."""
    try:
        pairs = parse_qsl(text.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError:  # UnicodeDecodeError is one
        raise InvalidRequest("The query is not UTF-8, or has too many parameters.") from None
    known = {field.encode_name for field in msgspec.structs.fields(to)}
    given: dict[str, str] = {}
    for name, value in pairs:
        if name not in known or name in given:
            raise _query_refusal(name, known, twice=name in given)
        given[name] = value
    return convert(given, to, strict=False)


def _query_refusal(name: str, known: Collection[str], *, twice: bool) -> InvalidRequest:
    name = _short(name.replace("\0", ""))
    if twice:
        return InvalidRequest(f"{name}: stands in the query more than once.", errors={name: ["more than once"]})
    there_are = f"There are: {', '.join(sorted(known))}." if known else "This address takes none."
    return InvalidRequest(f"There is no query parameter {name!r}. {there_are}", errors={name: ["unknown"]})


def encode(value: object) -> bytes:
    return _encoder.encode(value)


def ref(wire_type: type) -> dict[str, str]:
    """A reference for OpenAPI to a wire type, which is then part of the document."""
    if wire_type not in _registered:
        _registered.append(wire_type)
    return {"$ref": f"#/components/schemas/{wire_type.__name__}"}


def described_as(**schema: Any) -> dict[str, Any]:
    """For `Meta(extra_json_schema=…)`: this JSON schema, in place of the one that msgspec would write."""
    return {_INSTEAD: schema}


def schemas() -> dict[str, Any]:
    """The JSON schemas of every wire type that a view refers to."""
    _, components = msgspec.json.schema_components(
        _registered, ref_template="#/components/schemas/{name}", schema_hook=_own_schema
    )
    return {name: _replaced(schema) for name, schema in components.items()}


def schema_of(wire_type: Any) -> dict[str, Any]:
    """The JSON schema of one small type, to be written out where it is used."""
    schema: dict[str, Any] = _replaced(msgspec.json.schema(wire_type, schema_hook=_own_schema))
    return {name: part for name, part in schema.items() if name != "$defs"}


def _replaced(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_replaced(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if _INSTEAD in schema:
        return {name: schema[name] for name in ("description",) if name in schema} | schema[_INSTEAD]
    return {name: _replaced(part) for name, part in schema.items()}


def at_most(most: int) -> type[msgspec.Struct]:
    """A JSON array of so many items, none of them decoded. The first item too many ends the decoding.

    (`Meta(max_length=…)` of a list is looked at when the whole list is in memory: 64 bytes for each two of the body.)
    """
    places = [(f"_{place}", msgspec.Raw, msgspec.UNSET) for place in range(most)]
    return msgspec.defstruct("AtMost", places, array_like=True, forbid_unknown_fields=True)


def items(array: msgspec.Struct) -> Sequence[msgspec.Raw]:
    """Those of an array that was decoded as `at_most` so many."""
    places = msgspec.structs.astuple(array)
    return places[: places.index(msgspec.UNSET)] if places[-1] is msgspec.UNSET else places


def _values(body: bytes) -> int:
    """At least half as many as there are: each begins an array or an object, or stands behind a comma, or behind a key
    that does. (Some commas and brackets are in texts.)
    """
    return len(body) - len(body.translate(None, b",[{"))


def ready(to: Any) -> None:
    """Before msgspec reads a type for the first time. It notes on a Struct what its fields are, the note first and the
    fields after it: a thread that came meanwhile would follow pointers to nowhere, and the process would end.
    """
    _decoder(to)


def _decoder(to: type[T]) -> msgspec.json.Decoder[T]:
    if to not in _decoders:
        with _alone:
            _decoders[to] = msgspec.json.Decoder(to, dec_hook=_own, float_hook=_exact)
    return _decoders[to]


def _own(to: type, value: object) -> object:
    """A value for a type that msgspec does not know."""
    if to is not Exact:
        raise NotImplementedError(f"{to} cannot be read")
    if type(value) is int:  # as most are
        return Exact(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise TypeError("Expected a number, or a string that is one")
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        raise ValueError("Expected a number, but the string is none")
    return _exact(value)


def _exact(number: int | Decimal | str) -> Exact:
    try:
        return Exact(number)
    except InvalidOperation:
        raise ValueError("The exponent is larger than any number needs") from None


def _own_schema(wire_type: type) -> dict[str, Any]:
    if wire_type is Exact:
        return {}  # said with `described_as`, where it is used
    raise NotImplementedError(f"{wire_type} has no JSON schema")


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(part) for key, part in value.items())
    if isinstance(value, list):
        return any(_holds_nul(part) for part in value)
    return isinstance(value, str) and "\0" in value


def _short(text: str) -> str:
    """Names that a caller chose are repeated, but not at any length."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _refusal(error: msgspec.ValidationError) -> InvalidRequest:
    message = str(error)
    at = _AT.search(message)
    path = at["path"] if at else ""
    message = _AT.sub("", message)
    named = _UNKNOWN.search(message) or _ABSENT.search(message)
    field = _short(".".join(part for part in (path, named["field"] if named else "") if part))
    message = _short(message)
    return InvalidRequest(f"{message}." if not field else f"{field}: {message}.", errors={field or "body": [message]})
