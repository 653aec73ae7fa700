"""Where a reader stopped, as one opaque text. Raw scores and times: a changed rule changes every place."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from config import wire
from config.errors import InvalidRequest
from leaderboards.rules.encoding import MAX_RAW

Raw = Annotated[int, Meta(ge=-MAX_RAW, le=MAX_RAW)]
Number = Annotated[int, Meta(ge=0, le=2**62)]
Micros = Annotated[int, Meta(ge=-(2**53), le=2**53)]  # since 1970
C = TypeVar("C", bound=msgspec.Struct)


class BoardCursor(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag="b"):
    """The rows after, or before, one entry of a board, within the band that the reader asked for."""

    mode: Number
    window: str
    scope: str
    after: bool
    score: Raw
    at: Micros | None
    player: Number
    low: Raw | None
    high: Raw | None


class AttemptCursor(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag="a"):
    """A player's attempts that arrived before this one."""

    player: Number
    received: Micros
    id: Number


def write(cursor: msgspec.Struct) -> str:
    return urlsafe_b64encode(msgspec.msgpack.encode(cursor)).decode().rstrip("=")


def read(text: str, to: type[C]) -> C:
    try:
        packed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        wire.ready(to)
        return msgspec.msgpack.decode(packed, type=to)
    except (ValueError, msgspec.MsgspecError):
        raise refusal("is not one that was given out") from None


def refusal(why: str) -> InvalidRequest:
    return InvalidRequest(f"cursor: {why}.", errors={"cursor": [why]})
