"""Pace: how often a player, an address, a device or an API key submits. Two places at once the same call tells.

A game's own servers are held up only where they say whom they speak for (`client`), and by what is allowed to a key.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from math import ceil
from typing import Annotated

from django.conf import settings
from msgspec import Meta, Struct

from anticheat import keys, pace
from anticheat.checks import timing
from anticheat.pace import Passed, Place, Rate, Turn
from anticheat.tuning import Tuning, tuned
from config.errors import RateLimited
from leaderboards.admission import Door, Finding
from leaderboards.candidates import Candidate
from players.access import Kind

_NETWORK = 64  # bits of an IPv6 address that somebody has; the others are drawn as one likes
_SENTENCE = "That was too many scores in a short time; wait a little."


class Allowed(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing a second: no limit."""

    per_second: Annotated[float, Meta(ge=0, le=1_000_000)]
    burst: Annotated[int, Meta(ge=1, le=1_000_000)]


class PaceTuning(Tuning, frozen=True, kw_only=True):
    player: Allowed = Allowed(10, 300)
    address: Allowed = Allowed(50, 1000)  # of a school, or of a whole town behind one
    device: Allowed = Allowed(10, 300)


class Pace:
    """Over the limit nothing is logged and no id used up; the answer says when to come again."""

    name = "pace"
    tuning = PaceTuning

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        queue = _Queue(batch, door)
        passed = pace.pass_through(queue.turns) if queue.turns else None
        if passed is None:
            return {}
        findings: dict[int, Finding] = {}
        for index, found in queue.told(passed):
            if found.wait:
                findings.setdefault(index, RateLimited(_SENTENCE, retry_after=ceil(found.wait)))
            elif verdict := timing.apart(batch[index].mode, found.before, *_where(batch[index])):
                findings.setdefault(index, verdict)
        return findings


class _Queue:
    """Those of a batch that are counted: a turn each, and one for a key that sent all of it."""

    def __init__(self, batch: Sequence[Candidate], door: Door) -> None:
        self.turns: list[Turn] = []
        self._whose: list[Sequence[int]] = []
        rate, whole = _key_rate(), door.caller.kind is Kind.KEY
        if whole and rate and door.caller.key is not None:
            self._add(range(len(batch)), Turn([(keys.key_pace(door.caller.key), rate)]))
        named = [index for index, one in enumerate(batch) if one.client is not None] if whole else range(len(batch))
        for index in named:
            turn = _turn(batch[index], door.game.pk, None if whole else rate)
            if turn.buckets or turn.place:
                self._add((index,), turn)

    def _add(self, whose: Sequence[int], turn: Turn) -> None:
        self._whose.append(whose)
        self.turns.append(turn)

    def told(self, passed: Sequence[Passed]) -> Iterator[tuple[int, Passed]]:
        for whose, found in zip(self._whose, passed, strict=True):
            if found.wait or found.before:
                yield from ((index, found) for index in whose)


def _key_rate() -> Rate | None:
    allowed = settings.KEY_SUBMITS_PER_SECOND
    return Rate(allowed, settings.KEY_SUBMITS_AT_ONCE) if allowed else None


def _turn(one: Candidate, game: int, each: Rate | None) -> Turn:
    buckets = [(keys.key_pace(one.caller.key), each)] if each and one.caller.key is not None else []
    address, device = _where(one)
    if one.caller.kind is not Kind.PLAYER and not address and not device:
        return Turn(buckets)
    tuning, seconds = tuned(one.mode, Pace.name, PaceTuning), timing.remembered(one.mode)
    limits = (("player", one.player_id, tuning.player), ("address", address, tuning.address))
    for kind, who, allowed in (*limits, ("device", device, tuning.device)):
        if tuning.on and who and allowed.per_second:
            buckets.append((keys.pace(one.mode_id, kind, who), Rate(allowed.per_second, allowed.burst)))
    place = Place(keys.seen(game, one.player_id), address, device, seconds) if seconds else None
    return Turn(buckets, place)


def _where(one: Candidate) -> tuple[str, str]:
    """The address, or the network that somebody has; and the device. Empty: not known."""
    if one.client is None:
        return "", ""
    return network(one.client.address or ""), one.client.device or ""


@lru_cache(maxsize=4096)
def network(address: str) -> str:
    try:
        found = ip_address(address.strip())
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    return str(found) if isinstance(found, IPv4Address) else str(ip_network((found, _NETWORK), strict=False))
