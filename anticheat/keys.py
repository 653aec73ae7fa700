"""Every Valkey key and lock name of this floor. Who somebody is, is hashed: names have no business there."""

from enum import IntEnum, unique
from hashlib import blake2b


@unique
class Lock(IntEnum):
    """PostgreSQL's advisory locks; the numbers of leaderboards/keys.py go on here."""

    REPLAYS = 7310


def pace(mode: int, kind: str, who: str) -> str:
    """How often one player, address or device submits to a mode."""
    return f"rung:pace:{mode}:{kind}:{_hashed(who)}"


def key_pace(key: int) -> str:
    """How often an API key submits."""
    return f"rung:pace:key:{key}"


def seen(game: int, player_id: str) -> str:
    """Where a player last submitted from, in whichever mode."""
    return f"rung:seen:{game}:{_hashed(player_id)}"


def sign_in_failed(user: int, address: str) -> str:
    """That a wrong password for an operator, from there, was recorded lately."""
    return f"rung:sign_in_failed:{user}:{_hashed(address)}"


def sign_ins_failed(user: int) -> str:
    """How many of these were recorded lately, from wherever."""
    return f"rung:sign_ins_failed:{user}"


def _hashed(who: str) -> str:
    return blake2b(who.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
