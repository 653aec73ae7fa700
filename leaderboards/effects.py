"""What a batch does to the boards: absolute values, so that sending it twice is nothing. Raw scores, not places."""

from collections.abc import Iterable, Iterator

import msgspec

VERSION = 1


class Put(msgspec.Struct, array_like=True, frozen=True):
    """A player's score on a board from now on. `at`: microseconds since 1970."""

    player: int
    score: int
    at: int


class BoardChange(msgspec.Struct, array_like=True, frozen=True):
    window: str
    scope: str
    put: list[Put]
    drop: list[int]


class Effect(msgspec.Struct, array_like=True, frozen=True):
    version: int
    boards: list[BoardChange]


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Effect).decode


class Gathering:
    """Changes as they are found, player by player."""

    def __init__(self) -> None:
        self.by_player: dict[int, dict[tuple[str, str], Put | None]] = {}

    def put(self, window: str, scope: str, put: Put) -> None:
        self.by_player.setdefault(put.player, {})[window, scope] = put

    def drop(self, window: str, scope: str, player: int) -> None:
        self.by_player.setdefault(player, {}).setdefault((window, scope), None)

    def effects(self, players_each: int) -> Iterator[Effect]:
        """All of a player in one effect, so that no one is ever half moved."""
        players = sorted(self.by_player)
        for first in range(0, len(players), players_each):
            yield self._effect(players[first : first + players_each])

    def _effect(self, players: Iterable[int]) -> Effect:
        boards: dict[tuple[str, str], BoardChange] = {}
        for player in players:
            for board, put in self.by_player[player].items():
                change = boards.setdefault(board, BoardChange(*board, [], []))
                if put is None:
                    change.drop.append(player)
                else:
                    change.put.append(put)
        return Effect(VERSION, list(boards.values()))
