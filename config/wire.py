"""How wire types are declared, read and written: msgspec Structs, from which every door and OpenAPI live."""

import re
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec

from config.errors import InvalidRequest

T = TypeVar("T")

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<field>[^`]*)`")
_ABSENT = re.compile(r"missing required field `(?P<field>[^`]*)`")

_encoder = msgspec.json.Encoder(decimal_format="number")
_registered: list[type] = []
_INSTEAD = "instead"  # msgspec describes a Decimal as a string, whatever it is told; this says what to put there

Instant = Annotated[datetime, msgspec.Meta(tz=True)]


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


def decode(body: bytes, to: type[T], *, in_parts: bool = False) -> T:
    """`body` as `to`, or InvalidRequest naming the field. `in_parts`: each part is decoded, and refused, by itself."""
    if not in_parts and _NUL.search(body):
        raise InvalidRequest("The body contains the character U+0000, which is not allowed anywhere.")
    try:
        return msgspec.json.decode(body, type=to)
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
    try:
        return msgspec.convert(value, to, strict=strict)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None


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
        _registered, ref_template="#/components/schemas/{name}", schema_hook=_no_schema
    )
    return {name: _replaced(schema) for name, schema in components.items()}


def schema_of(wire_type: Any) -> dict[str, Any]:
    """The JSON schema of one small type, to be written out where it is used."""
    return {name: part for name, part in msgspec.json.schema(wire_type).items() if name != "$defs"}


def _replaced(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_replaced(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if _INSTEAD in schema:
        return {name: schema[name] for name in ("description",) if name in schema} | schema[_INSTEAD]
    return {name: _replaced(part) for name, part in schema.items()}


def _no_schema(wire_type: type) -> dict[str, Any]:
    raise NotImplementedError(f"{wire_type} has no JSON schema")


def _holds_nul(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(part) for key, part in value.items())
    if isinstance(value, list):
        return any(_holds_nul(part) for part in value)
    return isinstance(value, str) and "\0" in value


def _refusal(error: msgspec.ValidationError) -> InvalidRequest:
    message = str(error)
    at = _AT.search(message)
    path = at["path"] if at else ""
    message = _AT.sub("", message)
    named = _UNKNOWN.search(message) or _ABSENT.search(message)
    field = ".".join(part for part in (path, named["field"] if named else "") if part)
    return InvalidRequest(f"{message}." if not field else f"{field}: {message}.", errors={field or "body": [message]})
