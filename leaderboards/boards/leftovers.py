"""The keys of all boards there are, of whatever mode and generation: among them those that no mode leads to."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from config import valkey
from leaderboards import keys
from leaderboards.boards.store import Slot

_NAMED = re.compile(rb"lb:\{([0-9]{1,18})\.([0-9]{1,9})\}:g([0-9]{1,18}):")
_AT_ONCE = 1000
Named = tuple[Slot, bytes]


def named() -> Iterator[list[Named]]:
    """Each key with where it belongs, on every server, some at a time; what is not named as ours is passed over."""
    found = (
        (Slot(int(ours[1]), int(ours[2]), int(ours[3])), name)
        for name in valkey.keys_everywhere(keys.all_generations())
        if (ours := _NAMED.match(name))
    )
    while some := list(islice(found, _AT_ONCE)):
        yield some


def remove(names: Sequence[bytes]) -> int:
    return valkey.keys_remove(names)
