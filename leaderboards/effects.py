"""What a batch does to the boards: absolute values, so that sending it twice is nothing. Raw scores, not places."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

VERSION = 3
MOST_ENTRIES = 20_000  # in one call to Valkey, about: players of many levels have thousands each


class BoardChange(msgspec.Struct, array_like=True, frozen=True):
    """Of one window, the same in each of these scopes, column by column and in the order of players: who stands there
    from now on with what, achieved when (microseconds since 1970); who leaves. Without anybody: what is shown there to
    players whom nobody else is shown is another.
    """

    window: str
    scopes: list[str] | str  # before version 3 always one
    players: list[int]
    scores: list[int]
    ats: list[int]
    drop: list[int]

    @property
    def entries(self) -> int:
        return (len(self.players) + len(self.drop)) * (1 if isinstance(self.scopes, str) else len(self.scopes))

    @property
    def is_unseen(self) -> bool:
        return not self.players and not self.drop

    def between(self, first: int, last: int) -> "BoardChange | None":
        """The part that concerns players from the first to the last."""
        put = slice(bisect_left(self.players, first), bisect_right(self.players, last))
        players = self.players[put]
        drop = self.drop[bisect_left(self.drop, first) : bisect_right(self.drop, last)]
        if not players and not drop:
            return None
        return BoardChange(self.window, self.scopes, players, self.scores[put], self.ats[put], drop)


class Effect(msgspec.Struct, array_like=True, frozen=True):
    version: int
    boards: list[BoardChange]


class Stamped(NamedTuple):
    """A numbered effect, frozen."""

    seq: int
    effect: Effect
    at: datetime


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Effect).decode


def effects(changes: Sequence[BoardChange], players_each: int) -> Iterator[Effect]:
    """All of a player in one effect, so that no one is ever half moved."""
    entries = sum(change.entries for change in changes)
    players = sorted({player for change in changes for some in (change.players, change.drop) for player in some})
    if entries > MOST_ENTRIES:
        players_each = min(players_each, max(1, len(players) * MOST_ENTRIES // entries))
    for first in range(0, len(players), players_each):
        some = players[first : first + players_each]
        yield Effect(VERSION, [part for change in changes if (part := change.between(some[0], some[-1]))])
    if unseen := [change for change in changes if change.is_unseen]:
        yield Effect(VERSION, unseen)  # which has a number too: who is shown itself is told the version of what it sees
