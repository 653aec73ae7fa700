"""Where a page deep in a board over several shards begins: found by counting, without reading what stands before it.

How many stand before a place adds up over shards. So each trip asks that of many places, and the next of many between
the two that are nearest: of places first, then, among equals, of players (docs/adr/0012).
"""

from itertools import chain
from math import isqrt

from leaderboards.boards.board import Position
from leaderboards.reading import Question, Reading, merged
from leaderboards.whereabouts import near

MARKS = 32  # places that a trip asks about
_NOBODYS = (2**54, 0)  # a place before all


def run_at(reading: Reading, first: int, most: int) -> list[Position]:
    """Entries of the whole board, from the one on that so many stand before.

    Whatever is answered, each trip leaves but a part of what lay between `low` and `high`: it ends.
    """
    marks = _likely(reading, first) if most > 0 else []
    if not marks:
        return []
    low, high = marks[0], marks[-1]  # what is looked for is one of these or stands between
    last, before = _NOBODYS, 0  # how many stand before `low`, and the last of them
    while first - before > 2 * MARKS and _order(low) < _order(high):  # fewer are read: a trip more carries as many
        for one in near(reading, [(mark, 1) for mark in marks]):
            if one.before > first:
                (high,) = one.ahead
                break
            low, before, last = one.here, one.before, one.ahead[0] if one.ahead else last
        marks = _between(low, high)
    (found,) = near(reading, [(last, first - before + most)])
    return found.behind[first - before :]


def _likely(reading: Reading, first: int) -> list[Position]:
    """The best of the board, the worst, and between them whoever stands in a shard where what is looked for would stand
    if shards were alike. They are, as hands of one pack are, so that it is mostly near. None: the board is shorter.
    """
    shards = reading.board.mode.shards
    many, middle = max(1, MARKS // shards), first // shards
    apart = 5 * isqrt(middle)  # by chance hardly any shard is further off than half of that
    ranks = {max(0, middle + apart * (2 * turn - many + 1) // (2 * many)) for turn in range(many)}
    questions: list[Question] = [("range", rank, rank) for rank in (0, -1, *ranks)]
    best, worst, *rest = [merged(answer.rest[0] for answer in answers) for answers in reading.ask_each(questions)]
    if first >= reading.page([]).total:
        return []
    found = sorted({*chain(*rest)}, key=_order)
    return [best[0], *found[:: -(-len(found) // MARKS) or 1], worst[-1]]


def _between(low: Position, high: Position) -> list[Position]:
    """Evenly, by place, or by player where both have the same; the last is `high`, or before all its equals."""
    (best, earliest), (worst, latest) = low, high
    if best > worst:
        return [(best - step, 0) for step in _steps(best - worst)]
    return [(best, earliest + step) for step in _steps(latest - earliest)]


def _steps(span: int) -> list[int]:
    many = min(span, MARKS)
    return [span * turn // many for turn in range(1, many + 1)]


def _order(position: Position) -> tuple[int, int]:
    return -position[0], position[1]
