"""Where players stand: any number of them at once, with their neighbours. Names join elsewhere."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from leaderboards.boards import store
from leaderboards.boards.board import Board, Entry, Page, Position, Replaced
from leaderboards.outbox import shard_of
from leaderboards.reading import EMPTY, Reading, merged, steady


class Around(msgspec.Struct, frozen=True):
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
        alone = reading.board.mode.shards == 1 and reading.ghost is None
        found = _runs_of_one_shard(reading, asked) if alone else _runs(reading, asked)
        there = [one for one in found if one]
        entries = iter(reading.entries([one.run for one in there], [one.before for one in there]))
        return reading.page([]), [_around(next(entries), one.own) if one else None for one in found]

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

    def act(reading: Reading) -> tuple[dict[int, int], Page]:
        found = _found(reading, players)
        return {player: board.placing.score(place) for player, (place, _) in found.items()}, reading.page([])

    if board.viewer is None:
        with suppress(Replaced):
            return act(Reading(board))
    return steady(board, act)


def _found(reading: Reading, players: Sequence[int]) -> dict[int, Position]:
    answers = reading.ask("places", *map(store.member, players))
    shards, ghost = len(reading.answers), reading.ghost.player if reading.ghost else None
    own = [
        answers[shards if player == ghost else shard_of(player, shards)].rest[0][n] for n, player in enumerate(players)
    ]
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


class _Run(NamedTuple):
    """A player and its neighbours: which of them is its own, and how many stand before the first."""

    run: list[Position]
    own: int
    before: int


def _runs(reading: Reading, asked: Sequence[tuple[int, int]]) -> list[_Run | None]:
    found = _found(reading, [player for player, _ in asked])
    wanted = [(found[player], most) for player, most in asked if player in found]
    known = iter(near(reading, wanted) if wanted else [])
    return [_run(next(known)) if player in found else None for player, _ in asked]


def _run(one: Near) -> _Run:
    return _Run([*one.ahead, one.here, *one.behind], len(one.ahead), one.before - len(one.ahead))


def _runs_of_one_shard(reading: Reading, asked: Sequence[tuple[int, int]]) -> list[_Run | None]:
    """Which looks up the places itself."""
    alike: dict[int, list[int]] = {} if asked else {0: []}  # whoever asks for nobody is told the totals
    for index, (_, most) in enumerate(asked):
        alike.setdefault(most, []).append(index)
    members = [b"".join([store.member(asked[index][0]) for index in indexes]) for indexes in alike.values()]
    told = reading.ask_each([("stand", most, who) for most, who in zip(alike, members, strict=True)])
    found: list[_Run | None] = [None] * len(asked)
    for (most, indexes), (answer,) in zip(alike.items(), told, strict=True):
        befores, runs = answer.rest
        for index, before, flat in zip(indexes, befores, runs, strict=True):
            if flat:
                own = min(before, most)
                found[index] = _Run([(place, player) for player, place in store.entries(flat)], own, before - own)
    return found


def _near(shards: Sequence[Sequence[Any]], here: Position, most: int) -> Near:
    before = sum(one[1] for one in shards)
    if not most:
        return Near(here, before, [], [])
    ahead, behind = merged(one[2] for one in shards), merged(one[3] for one in shards)
    return Near(here, before, ahead[-most:], behind[:most])
