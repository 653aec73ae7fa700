"""How often callers may read in a game: what is declared, what is stored, and what holds where nothing is said."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import msgspec
from django.conf import settings
from msgspec import UNSET, UnsetType

from config import wire
from config.buckets import Rate
from config.errors import InvalidRequest
from players.wire import Allowed, LimitsDeclaration

_LEAST = 0.001  # entries a second: one in a quarter of an hour
_KNOWN = "There are player.read and address.read."


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit."""

    player_read: Rate | None
    address_read: Rate | None


def limits_checked(declared: Any) -> dict[str, Any]:
    """As it is stored: only what was declared."""
    try:
        wanted = wire.convert(declared, LimitsDeclaration)
    except InvalidRequest as error:
        fields = {f"limits.{name}": sentences for name, sentences in (error.errors or {}).items()}
        raise InvalidRequest(f"limits.{error.detail} {_KNOWN}", errors=fields) from None
    return limits_stored(wanted)


def limits_stored(wanted: LimitsDeclaration) -> dict[str, Any]:
    for kind in ("player", "address"):
        allowed = getattr(wanted, kind).read
        if allowed is not UNSET and 0 < allowed.per_second < _LEAST:
            field = f"limits.{kind}.read.per_second"
            raise InvalidRequest(f"{field}: is 0 or at least {_LEAST}.", errors={field: [f"0 or at least {_LEAST}"]})
    stored: dict[str, Any] = msgspec.to_builtins(wanted)
    return {kind: said for kind, said in stored.items() if said}


def limits_of(stored: dict[str, Any]) -> Limits | None:
    """With the defaults; None where nothing is limited."""
    wire.ready(LimitsDeclaration)
    said = msgspec.convert(stored, LimitsDeclaration)
    limits = Limits(
        _rate(said.player.read, settings.PLAYER_READS_PER_SECOND),
        _rate(said.address.read, settings.ADDRESS_READS_PER_SECOND),
    )
    return limits if limits.player_read or limits.address_read else None


def _rate(said: Allowed | UnsetType, default: int) -> Rate | None:
    if isinstance(said, UnsetType):
        return Rate(default, default) if default else None
    if not said.per_second:
        return None
    burst = max(1, ceil(said.per_second)) if isinstance(said.burst, UnsetType) else said.burst
    return Rate(said.per_second, burst)
