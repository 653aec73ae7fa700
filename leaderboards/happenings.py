"""What happened lately in a mode, and how its boards looked then: in Valkey, by numbers only.

On the cache's server: it is one server, never a cluster, nobody watches over what is written there, and what it loses
costs a feed of some moments.
"""

from collections.abc import Sequence

import msgspec

from config import valkey
from leaderboards import keys
from leaderboards.models import Mode
from leaderboards.rules.happenings import Kind, Position

KEPT = 50  # of a mode
_WEEK = 7 * 24 * 3600  # seconds
_LONG = 5 * _WEEK  # a mode that nobody played for a month has been forgotten, and begins anew


class Happened(msgspec.Struct, array_like=True, frozen=True):
    kind: Kind
    player: int
    window: str  # its id
    score: int  # raw
    rank: int
    at: int  # microseconds since 1970


class Seen(msgspec.Struct, array_like=True, frozen=True):
    """The heads of a mode's boards as they were at a time (seconds since 1970), and when a best was last told."""

    at: float
    bested_at: float
    heads: dict[str, list[Position]]  # by the window's id


_encode = msgspec.msgpack.Encoder().encode
_happened = msgspec.msgpack.Decoder(Happened).decode
_seen = msgspec.msgpack.Decoder(Seen).decode


def seen(mode: Mode) -> Seen | None:
    found = valkey.cache_bytes(keys.heads_seen(mode.pk, mode.generation))
    return None if found is None else _seen(found)


def add(mode: Mode, some: Sequence[Happened], now_seen: Seen) -> None:
    """The last of them is the newest."""
    valkey.cache_push(
        keys.happened(mode.pk),
        [_encode(one) for one in some],
        most=KEPT,
        seconds=_WEEK,
        beside=(keys.heads_seen(mode.pk, mode.generation), _encode(now_seen), _LONG),
    )


def recent(mode: Mode) -> list[Happened]:
    """Newest first."""
    return [_happened(one) for one in valkey.cache_pushed(keys.happened(mode.pk))]


def is_our_turn(mode: Mode, *, seconds: float) -> bool:
    """Among all processes; so long nobody else has one."""
    return valkey.cache_add(keys.heads_turn(mode.pk), seconds=seconds)
