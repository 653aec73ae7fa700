"""The top of boards as it would be after an act: without some players, or with other scores of theirs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from leaderboards import ranking
from leaderboards.boards.board import Board, Entry, board_named
from leaderboards.models import Mode, Placement
from leaderboards.reading import ranks_of_run
from leaderboards.rules.aggregation import Told
from leaderboards.rules.instants import micros
from leaderboards.standings import Row

TOP = 10
# entries that are looked at: those who fall leave room for as many as stand below, so further down where many do
DEPTHS = (100, 1000, 10_000)


class Compared(NamedTuple):
    """The first of one board, now and then. `whole`: false where so many fall that others may move in."""

    board: Board
    before: list[Entry]
    after: list[Entry]
    whole: bool = True

    @property
    def newcomers(self) -> list[Entry]:
        """Who moves in."""
        there = {entry.player for entry in self.before}
        return [entry for entry in self.after if entry.player not in there]


def tops_now(*, mode: Mode, now: datetime) -> list[list[Entry]]:
    """Of each running window, global."""
    return [ranking.page(board, offset=0, limit=DEPTHS[0]).entries for board in _boards(mode, now)]


def tops_after(
    *,
    mode: Mode,
    without: Collection[int],
    instead: Mapping[Row, Told],
    depths: Sequence[int] = (),
    now: datetime,
) -> list[Compared]:
    """For each running window, global. `without`: who leaves; `instead`: all that some of them have then.

    `depths`: how far down is looked, one after the other, until there are enough who stay.
    """
    gone, there = set(without), _listed(mode, {row.player for row in instead})
    back = {row: told for row, told in instead.items() if row.player in there}
    return [_compared(board, gone, back, depths or DEPTHS) for board in _boards(mode, now)]


def _listed(mode: Mode, players: Collection[int]) -> set[int]:
    """Those who are on boards at all."""
    found = Placement.objects.filter(mode=mode, player__in=players, listed=True)
    return set(found.values_list("player_id", flat=True))


def _boards(mode: Mode, now: datetime) -> list[Board]:
    return [board_named(mode=mode, window=kind, scope="global", at=now) for kind in mode.windows]


def _compared(board: Board, gone: set[int], instead: Mapping[Row, Told], depths: Sequence[int]) -> Compared:
    placing = board.placing
    for deep in depths:
        shown = ranking.page(board, offset=0, limit=deep).entries
        stay = [(placing.place(one.score, _at(one)), one.player) for one in shown if one.player not in gone]
        if whole := len(stay) >= TOP or len(shown) < deep:
            break
    back = [
        (placing.place(told.score, told.at), row.player)
        for row, told in instead.items()
        if (row.window, row.scope) == (board.window.id, "")
    ]
    order = sorted([*stay, *back], key=lambda one: (-one[0], one[1]))[:TOP]
    ranks = ranks_of_run(board.mode.ranking, [place >> placing.bits for place, _ in order], 0, 0) if order else []
    return Compared(board, shown[:TOP], board.entries(order, ranks), whole)


def _at(entry: Entry) -> int:
    return micros(entry.achieved_at) if entry.achieved_at else 0
