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


def seen(mode: Mode, viewer: int | None = None) -> Seen | None:
    """As everybody saw them, or as a shadow-banned player did."""
    found = valkey.cache_bytes(keys.heads_seen(mode.pk, mode.generation, viewer))
    return None if found is None else _seen(found)


def add(mode: Mode, some: Sequence[Happened], now_seen: Seen, viewer: int | None = None) -> None:
    """The last of them is the newest."""
    valkey.cache_push(
        keys.happened(mode.pk, viewer),
        [_encode(one) for one in some],
        most=KEPT,
        seconds=_WEEK,
        beside=(keys.heads_seen(mode.pk, mode.generation, viewer), _encode(now_seen), _LONG),
    )


def recent(mode: Mode, viewer: int | None = None) -> list[Happened]:
    """Newest first. A shadow-banned viewer has a feed of its own from its ban on; what was not looked at for it yet, or
    any more, is everybody's.
    """
    found = [_happened(one) for one in valkey.cache_pushed(keys.happened(mode.pk))]
    looked = None if viewer is None else seen(mode, viewer)
    if looked is None:
        return found
    own = [_happened(one) for one in valkey.cache_pushed(keys.happened(mode.pk, viewer))]
    return ([one for one in found if one.at > round(looked.at * 1_000_000)] + own)[:KEPT]


def begin(mode: Mode, viewer: int) -> None:
    """A shadow-banned player's own feed begins with everybody's, from before its ban."""
    own = keys.happened(mode.pk, viewer)
    if not valkey.cache_pushed(own):
        valkey.cache_copy(keys.happened(mode.pk), own, seconds=_WEEK)


def is_our_turn(mode: Mode, *, seconds: float) -> bool:
    """Among all processes; so long nobody else has one."""
    return valkey.cache_add(keys.heads_turn(mode.pk), seconds=seconds)
