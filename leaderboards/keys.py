"""Every Valkey key, channel group and lock name. All keys of a (mode, shard) share a hash tag, so one slot has them."""

from enum import IntEnum, unique
from hashlib import blake2b


@unique
class Lock(IntEnum):
    """PostgreSQL's advisory locks: two acts with the same number would wait for each other."""

    PARTITIONS = 7300
    DAY = 7301  # with the day: shared by score_attempts_enter(), alone by who waits for its writers
    REBUILD = 7302  # with the mode, as the next
    DIMENSION_VALUES = 7303
    RESPLIT = 7304


def state(mode: int, shard: int, generation: int) -> str:
    return f"{_slot(mode, shard)}:g{generation}:state"


def sizes(mode: int, shard: int, generation: int) -> str:
    return f"{_slot(mode, shard)}:g{generation}:sizes"


def board(mode: int, shard: int, generation: int, window: str, scope: str) -> str:
    return f"{_slot(mode, shard)}:g{generation}:b:{window}|{scope}"


def every(mode: int, shard: int, generation: int) -> str:
    """A pattern for all keys of a generation."""
    return f"{_slot(mode, shard)}:g{generation}:*"


def all_generations() -> str:
    """A pattern for all keys of all generations, of whatever mode."""
    return "lb:{*}:g*:*"


def told_of() -> list[str]:
    """Patterns for what the server is to tell of: boards, and what every act of ours on them begins and ends with."""
    return ["lb:*:state", "lb:*:b:*"]


def bell(mode: int, shard: int) -> str:
    return f"rung:bell:{mode}.{shard}"


def bans_looked_at() -> str:
    return "rung:bans:looked_at"


def all_bans_looked_at() -> str:
    return "rung:bans:all_looked_at"


def histogram(mode: int, generation: int, window: str, scope: str) -> str:
    return f"rung:histogram:{mode}.g{generation}:{window}|{scope}"


def histograms_read() -> str:
    """Which boards' histograms were read, and when."""
    return "rung:histograms:read"


def happened(mode: int, viewer: int | None = None) -> str:
    """`viewer`: a shadow-banned player, as it would see it."""
    return f"rung:happened:{mode}" + (f":{viewer}" if viewer else "")


def heads_seen(mode: int, generation: int, viewer: int | None = None) -> str:
    """How the heads of a mode's boards looked when they were last looked at."""
    return f"rung:heads:{mode}.g{generation}" + (f":{viewer}" if viewer else "")


def heads_turn(mode: int) -> str:
    return f"rung:heads:turn:{mode}"


def live_boards() -> str:
    """Which boards sockets watch, and when that was last said."""
    return "rung:live:boards"


def live_watchers(board: str) -> str:
    """As what a board is watched, and when that was last said."""
    return f"rung:live:on:{board}"


def live_gate(board: str) -> str:
    """There while a board has been marked within the last quarter of a second."""
    return f"rung:live:gate:{board}"


def live_dirty() -> str:
    return "rung:live:dirty"


def live_bell() -> str:
    return "rung:live:bell"


def live_number(board: str) -> str:
    """How often a board has been announced."""
    return f"rung:live:number:{board}"


def live_told(board: str) -> str:
    """A digest of what was announced last."""
    return f"rung:live:told:{board}"


def live_group(board: str) -> str:
    """On the channel layer, whose names are short and plain."""
    return f"board.{blake2b(board.encode(), digest_size=16).hexdigest()}"


def _slot(mode: int, shard: int) -> str:
    return f"lb:{{{mode}.{shard}}}"
