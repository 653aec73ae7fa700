"""What just happened on a board, told from its head as it is and as it was."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

TOP: Final = 10  # entries of a head
_FIRST: Final = 100  # a personal best among so many is notable, or in the best hundredth
Position = tuple[int, int]  # place, player


class Kind(StrEnum):
    """The more, the earlier."""

    NEW_LEADER = "new_leader"
    ENTERED_TOP = "entered_top"
    NEW_BEST = "new_best"


def happened(before: Sequence[Position], after: Sequence[Position]) -> Iterator[tuple[Kind, int]]:
    """Who has done what, by index in the later head. Who only moves up because others left has done nothing: places
    are better than what was to beat.
    """
    had = {player: place for place, player in before}
    bar = before[TOP - 1][0] if len(before) >= TOP else None
    for index, (place, player) in enumerate(after[:TOP]):
        if index == 0 and (not before or (before[0][1] != player and place > before[0][0])):
            yield Kind.NEW_LEADER, index
        elif player not in had:
            if bar is None or place > bar:
                yield Kind.ENTERED_TOP, index
        elif place > had[player]:
            yield Kind.NEW_BEST, index


def is_notable(rank: int, total: int) -> bool:
    return rank <= max(_FIRST, total // 100)
