"""Ghosts: the shadow banned, each on the boards that it sees itself, where it would stand.

To whoever reads a ghost is one more shard with one member: all that is merged and counted over shards goes on as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection

from leaderboards.boards import store
from leaderboards.boards.board import Board, Position
from leaderboards.models import Mode
from leaderboards.rules.mode import PLAYERS_OWN
from players.shadows import player_shadowed


def seen_by(board: Board, player_id: str | None, *, at: datetime) -> Board:
    """The board as that player of its game sees it; None: whoever else."""
    if player_id is None:
        return board
    viewer = player_shadowed(board.mode.game_id, player_id, mode=board.mode.pk, at=at)
    return board if viewer is None else replace(board, viewer=viewer)


def hidden_of(mode: Mode, *, at: datetime, most: int) -> list[int]:
    """Players of a mode whom nobody but themselves sees on its boards; of many those who were the last to play."""
    with connection.cursor() as cursor:
        cursor.execute(_HIDDEN, {"mode": mode.pk, "game": mode.game_id, "at": at, "most": most})
        return [player for (player,) in cursor.fetchall()]


_HIDDEN = """
SELECT player FROM (
    SELECT b.player_id AS player FROM players_ban b JOIN players_player p ON p.id = b.player_id
    WHERE p.game_id = %(game)s AND p.erased_at IS NULL AND b.starts_at <= %(at)s
        AND (b.ends_at IS NULL OR b.ends_at > %(at)s) AND (b.mode_id IS NULL OR b.mode_id = %(mode)s)
    GROUP BY b.player_id HAVING bool_and(b.kind = 'shadow')
) b CROSS JOIN LATERAL (
    SELECT max(s.received_at) AS played FROM leaderboards_standing s
    WHERE s.mode_id = %(mode)s AND s.player_id = b.player
) s
WHERE played IS NOT NULL ORDER BY played DESC LIMIT %(most)s
"""


def position(board: Board) -> Position | None:
    """Where its viewer would stand; None: nowhere."""
    assert board.viewer is not None  # noqa: S101 - who asks has seen to it
    dimension, _, value = board.scope.partition(":")
    submitted = "" if board.scope == "global" or dimension in PLAYERS_OWN else board.scope
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT s.score, (extract(epoch FROM s.achieved_at) * 1000000)::bigint, l.region, l.country
            FROM leaderboards_standing s JOIN leaderboards_placement l USING (mode_id, player_id)
            WHERE s.mode_id = %s AND s.player_id = %s AND s."window" = %s AND s.scope = %s
            """,
            [board.mode.pk, board.viewer, board.window.id, submitted],
        )
        row = cursor.fetchone()
    if row is None or (dimension in PLAYERS_OWN and dict(zip(PLAYERS_OWN, row[2:], strict=True))[dimension] != value):
        return None
    return board.placing.place(*row[:2]), board.viewer


@dataclass(frozen=True, slots=True)
class Ghost:
    place: int
    player: int
    key: int
    alone: bool  # nobody on the board has the same key

    def answer(self, question: Sequence[Any]) -> store.Answer:
        """To what shards are asked."""
        function, *args = question
        return store.Answer(0, 0, 1, _SAYS[function](self, *args))

    @property
    def member(self) -> bytes:
        return store.member(self.player)

    @property
    def flat(self) -> list[bytes]:
        return [self.member, b"%d" % self.place]

    def is_before(self, place: int, member: bytes) -> bool:
        return (self.place, self.member) > (place, member)


def _range(ghost: Ghost, *_: int) -> list[Any]:
    return [ghost.flat]  # whichever part is asked for: where it belongs is known once it is merged


def _band(ghost: Ghost, greatest: int, least: int, *_: int) -> list[Any]:
    inside = least <= ghost.place <= greatest
    return [int(inside), ghost.flat if inside else []]


def _places(ghost: Ghost, *members: bytes) -> list[Any]:
    return [[ghost.flat[1] if one == ghost.member else b"" for one in members]]


def _before(ghost: Ghost, *asked: Any) -> list[Any]:
    return [[int(ghost.is_before(*one)) for one in _grouped(asked, 2)]]


def _above(ghost: Ghost, *places: int) -> list[Any]:
    return [[int(ghost.place > one) for one in places]]


def _keys_above(ghost: Ghost, *keys: int) -> list[Any]:
    return [[int(ghost.alone and ghost.key > one) for one in keys]]


def _near(ghost: Ghost, *asked: Any) -> list[Any]:
    found: list[Any] = []
    for place, member, most in _grouped(asked, 3):
        before = ghost.is_before(place, member)
        beside = ghost.flat if most and member != ghost.member else []
        found += [place, int(before), beside if before else [], [] if before else beside]
    return [found]


def _grouped(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (values[first : first + size] for first in range(0, len(values), size))


_SAYS: dict[str, Callable[..., list[Any]]] = {
    "range": _range,
    "band": _band,
    "places": _places,
    "before": _before,
    "above": _above,
    "keys_above": _keys_above,
    "near": _near,
}
