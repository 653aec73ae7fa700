"""Where players stand: any number of them at once, with their neighbours. Names join elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from leaderboards.boards import store
from leaderboards.boards.board import Board, Entry, Page
from leaderboards.outbox import shard_of
from leaderboards.reading import EMPTY, Position, Reading, merged, steady


@dataclass(frozen=True, slots=True)
class Around:
    """A player's own entry, those above it and those below."""

    own: Entry
    above: list[Entry]
    below: list[Entry]


def around(board: Board, asked: Sequence[tuple[int, int]]) -> tuple[Page, list[Around | None]]:
    """For each (player, how many neighbours) where it stands, None where it does not; and the board's totals.

    As many trips for one as for a thousand: one, one more for several shards, one more where equals share a rank.
    """
    if board.is_untouched:
        return EMPTY, [None] * len(asked)

    def act(reading: Reading) -> tuple[Page, list[Around | None]]:
        found = _whereabouts(reading, asked)
        runs = [[*one.ahead, one.here, *one.behind] for one in found if one]
        entries = iter(reading.entries(runs, [one.before - len(one.ahead) for one in found if one]))
        told = [_around(next(entries), len(one.ahead)) if one else None for one in found]
        return reading.page([]), told

    return steady(board, act)


def _around(run: list[Entry], own: int) -> Around:
    return Around(run[own], run[:own], run[own + 1 :])


def standing(board: Board, player: int) -> tuple[Page, Entry | None]:
    page, (found,) = around(board, [(player, 0)])
    return page, found.own if found else None


def glance(board: Board, players: Sequence[int]) -> tuple[dict[int, int], Page]:
    """The raw scores that the board has of players, and its totals: in one trip, without ranks."""
    if board.is_untouched:
        return {}, EMPTY
    reading = Reading(board)
    found = _found(reading, players)
    return {player: board.placing.score(place) for player, (place, _) in found.items()}, reading.page([])


def _found(reading: Reading, players: Sequence[int]) -> dict[int, Position]:
    answers = reading.ask("places", *map(store.member, players))
    own = [answers[shard_of(player, len(answers))].rest[0][n] for n, player in enumerate(players)]
    return {player: (int(float(place)), player) for player, place in zip(players, own, strict=True) if place}


class Near(NamedTuple):
    """A place, how many stand before it, and its neighbours."""

    here: Position
    before: int
    ahead: list[Position]
    behind: list[Position]


def near(reading: Reading, here: Sequence[tuple[Position, int]]) -> list[Near]:
    """For each place, whether or not somebody stands there, and how many neighbours are asked for."""
    answers = reading.ask("near", *(one for (at, who), most in here for one in (at, store.member(who), most)))
    return [
        _near([answer.rest[0][4 * index : 4 * index + 4] for answer in answers], own, most)
        for index, (own, most) in enumerate(here)
    ]


def _whereabouts(reading: Reading, asked: Sequence[tuple[int, int]]) -> list[Near | None]:
    if reading.board.mode.shards == 1:  # which looks up the place itself
        (answer,) = reading.ask("near", *(one for who, most in asked for one in ("", store.member(who), most)))
        told = [answer.rest[0][first : first + 4] for first in range(0, 4 * len(asked), 4)]
        return [
            _near([one], (int(float(one[0])), player), most) if one[0] else None
            for one, (player, most) in zip(told, asked, strict=True)
        ]
    found = _found(reading, [player for player, _ in asked])
    wanted = [(found[player], most) for player, most in asked if player in found]
    known = iter(near(reading, wanted) if wanted else [])
    return [next(known) if player in found else None for player, _ in asked]


def _near(shards: Sequence[Sequence[Any]], here: Position, most: int) -> Near:
    before = sum(one[1] for one in shards)
    if not most:
        return Near(here, before, [], [])
    ahead, behind = merged(one[2] for one in shards), merged(one[3] for one in shards)
    return Near(here, before, ahead[-most:], behind[:most])
