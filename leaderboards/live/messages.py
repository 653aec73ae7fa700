"""What clients say on a socket, and the frames they are told that are not states of boards."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from config import wire
from config.errors import DomainError, InvalidRequest
from leaderboards.wire_scores import ScopeName

MOST_ENTRIES = 100
Word = Annotated[str, Meta(max_length=128)]

HEARTBEAT = '{"type":"heartbeat"}'
PONG = '{"type":"pong"}'


class Message(wire.Incoming):
    op: Literal["subscribe", "follow", "unsubscribe", "ping"]
    id: Word = ""
    game: Word = ""
    mode: Word = ""
    window: Word = "alltime"
    scope: ScopeName = "global"
    limit: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] = 10
    player_id: Annotated[str, Meta(max_length=64)] = ""  # whom a key follows
    token: Annotated[str, Meta(max_length=4096)] = ""


def read(body: bytes) -> Message:
    message = wire.decode(body, Message)
    if not message.id and message.op != "ping":
        raise InvalidRequest("id: A subscription needs one.", errors={"id": ["A subscription needs one"]})
    return message


class _Named(msgspec.Struct):
    """As much as is needed to say which message was wrong."""

    id: Any = ""


def id_in(body: bytes) -> str:
    try:
        found = msgspec.json.decode(body, type=_Named).id
    except (ValueError, RecursionError):
        return ""
    return found[:128] if isinstance(found, str) else ""


def error(id_: str, told: DomainError) -> str:
    return wire.encode({"type": "error", "id": id_, "code": told.code, "detail": told.detail}).decode()


def unsubscribed(id_: str) -> str:
    return wire.encode({"type": "unsubscribed", "id": id_}).decode()
