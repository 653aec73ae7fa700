"""Where players stand: any number of them at once, with their neighbours. Names join elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboards.boards import store
from leaderboards.boards.board import Board, Entry, Page
from leaderboards.outbox import shard_of
from leaderboards.reading import EMPTY, Position, Reading, is_untouched, merged, steady


@dataclass(frozen=True, slots=True)
class Around:
    """A player's own entry, those above it and those below."""

    own: Entry
    above: list[Entry]
    below: list[Entry]


def around(board: Board, asked: Sequence[tuple[int, int]]) -> tuple[Page, list[Around | None]]:
    """For each (player, how many neighbours) where it stands, None where it does not; and the board's totals.

    Three trips, however many are asked for: places, neighbours, ranks.
    """
    if is_untouched(board.mode):
        return EMPTY, [None] * len(asked)

    def act(reading: Reading) -> tuple[Page, list[Around | None]]:
        found = _found(reading, [player for player, _ in asked])
        here = [(found[player], most) for player, most in asked if player in found]
        beside = near(reading, here)
        runs = [[*above, own, *below] for (own, _), (above, below) in zip(here, beside, strict=True)]
        entries = reading.entries(runs)
        told = iter(
            Around(run[len(above)], run[: len(above)], run[len(above) + 1 :])
            for run, (above, _) in zip(entries, beside, strict=True)
        )
        return reading.page([]), [next(told) if player in found else None for player, _ in asked]

    return steady(board, act)


def standing(board: Board, player: int) -> tuple[Page, Entry | None]:
    page, (found,) = around(board, [(player, 0)])
    return page, found.own if found else None


def scores_of(board: Board, players: Sequence[int]) -> dict[int, int]:
    """The raw scores that the board has, in one trip and without ranks."""
    if is_untouched(board.mode):
        return {}
    found = _found(Reading(board), players)
    return {player: board.placing.score(place) for player, (place, _) in found.items()}


def _found(reading: Reading, players: Sequence[int]) -> dict[int, Position]:
    answers = reading.ask("places", *map(store.member, players))
    own = [answers[shard_of(player, len(answers))].rest[0][n] for n, player in enumerate(players)]
    return {player: (int(float(place)), player) for player, place in zip(players, own, strict=True) if place}


def near(reading: Reading, here: Sequence[tuple[Position, int]]) -> list[tuple[list[Position], list[Position]]]:
    """Those before and those after each, as many as it asks for."""
    wanted = [(own, most) for own, most in here if most]
    answers = iter(reading.ask_each([("near", own[0], store.member(own[1]), most) for own, most in wanted]))
    found: list[tuple[list[Position], list[Position]]] = []
    for _, most in here:
        shards = next(answers) if most else []
        ahead, behind = (merged(answer.rest[side] for answer in shards) for side in (0, 1))
        found.append((ahead[-most:] if most else [], behind[:most]))
    return found
