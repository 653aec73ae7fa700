"""What a batch does to the boards: absolute values, so that sending it twice is nothing. Raw scores, not places."""

from collections.abc import Iterator

import msgspec

VERSION = 2
_Board = tuple[str, str]  # window, scope


class BoardChange(msgspec.Struct, array_like=True, frozen=True):
    """Column by column: who stands there from now on with what, achieved when (microseconds since 1970); who leaves."""

    window: str
    scope: str
    players: list[int]
    scores: list[int]
    ats: list[int]
    drop: list[int]

    def put(self, player: int, score: int, at: int) -> None:
        self.players.append(player)
        self.scores.append(score)
        self.ats.append(at)


class Effect(msgspec.Struct, array_like=True, frozen=True):
    version: int
    boards: list[BoardChange]


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Effect).decode


class Gathering:
    """Changes as they are found, player by player."""

    def __init__(self) -> None:
        self.by_player: dict[int, dict[_Board, tuple[int, int] | None]] = {}  # score and time, or None: leaves

    def put(self, player: int, board: _Board, score: int, at: int) -> None:
        self.by_player.setdefault(player, {})[board] = score, at

    def drop(self, player: int, board: _Board) -> None:
        self.by_player.setdefault(player, {}).setdefault(board, None)

    def effects(self, players_each: int) -> Iterator[Effect]:
        """All of a player in one effect, so that no one is ever half moved."""
        players = sorted(self.by_player)
        for first in range(0, len(players), players_each):
            boards: dict[_Board, BoardChange] = {}
            for player in players[first : first + players_each]:
                for board, told in self.by_player[player].items():
                    change = boards.get(board)
                    if change is None:
                        change = boards[board] = BoardChange(*board, [], [], [], [])
                    if told is None:
                        change.drop.append(player)
                    else:
                        change.put(player, *told)
            yield Effect(VERSION, list(boards.values()))
