"""Pages of boards: by offset, from where a reader stopped, within a band of scores. Names join elsewhere."""

from collections.abc import Sequence

from msgspec.structs import replace

from leaderboards import searching, tops
from leaderboards.boards import store
from leaderboards.boards.board import Band, Board, Page, Position, Stop
from leaderboards.reading import EMPTY, Reading, merged, steady
from leaderboards.whereabouts import near

DEEP = 2000  # from this offset on to search where a page begins is cheaper than to read what stands before it
_BEYOND = 2**54  # no place is greater, nor less than its negative


def page(board: Board, *, offset: int, limit: int, band: Band | None = None) -> Page:
    if board.is_untouched:
        return EMPTY
    if band is None and tops.serves(board, upto=offset + limit):
        return tops.page(board, offset=offset, limit=limit)

    def act(reading: Reading) -> Page:
        skip, total = _band(reading, band)
        if offset >= DEEP and reading.board.mode.shards > 1:
            ordered = searching.run_at(reading, skip + offset, limit if total is None else min(limit, total - offset))
        else:
            ordered = _run(reading, band, offset, limit)
        return _paged(reading, ordered, skip + offset, skip, total)

    return steady(board, act)


def page_from(board: Board, *, stop: Stop, limit: int, band: Band | None = None) -> Page:
    """The entries next to where a reader stopped, whether or not that one is still there."""
    if board.is_untouched:
        return EMPTY
    here = (board.placing.place(stop.score, stop.at or 0), stop.player)

    def act(reading: Reading) -> Page:
        skip, total = _band(reading, band)
        (found,) = near(reading, [(here, limit)])
        least, greatest = _places(board, band)
        ordered = [one for one in (found.behind if stop.after else found.ahead) if least <= one[0] <= greatest]
        first = 0
        if ordered:
            ((first,),) = reading.counts(("before", ordered[0][0], store.member(ordered[0][1])))
        return _paged(reading, ordered, first, skip, total)

    return steady(board, act)


def _paged(reading: Reading, ordered: Sequence[Position], first: int, skip: int, total: int | None) -> Page:
    """`first`: how many of the whole board stand before; `skip`: how many before the band."""
    (entries,) = reading.entries([ordered], [first])
    found = reading.page(entries, total=total)
    more = bool(ordered) and first + len(ordered) < skip + found.total
    return replace(found, more_before=bool(ordered) and first > skip, more_after=more)


def _band(reading: Reading, band: Band | None) -> tuple[int, int | None]:
    """How many stand before the band, and how many in it; None: the whole board."""
    if band is None:
        return 0, None
    least, greatest = _places(reading.board, band)
    ((before, upto),) = reading.counts(("above", greatest, least - 1))
    return before, max(0, upto - before)


def _places(board: Board, band: Band | None) -> tuple[int, int]:
    """The least and the greatest place of a band."""
    low, high = (None, None) if band is None else (band.low, band.high)
    if board.placing.sign < 0:
        low, high = high, low
    least = -_BEYOND if low is None else board.placing.places_of(low)[0]
    greatest = _BEYOND if high is None else board.placing.places_of(high)[1]
    return min(max(least, -_BEYOND), _BEYOND), max(min(greatest, _BEYOND), -_BEYOND)


def _run(reading: Reading, band: Band | None, offset: int, limit: int) -> list[Position]:
    alone = reading.board.mode.shards == 1
    # which shard has them is only known by merging; of one shard, whether a ghost stands before
    first = max(0, offset - bool(reading.ghost)) if alone else 0
    count = offset + limit - first
    if band is None:
        flat = [answer.rest[0] for answer in reading.ask("range", first, first + count - 1)]
    else:
        least, greatest = _places(reading.board, band)
        flat = [answer.rest[1] for answer in reading.ask("band", greatest, least, first, count)]
    return merged(flat)[offset - first :][:limit]
