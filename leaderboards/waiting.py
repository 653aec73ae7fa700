"""Attempts in quarantine, for whoever may know of them: the player, and the game's own servers."""

import time
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from config.sql import numbers
from leaderboards.attempts import window_ids
from leaderboards.boards.board import Board
from leaderboards.log import State
from leaderboards.rules import encoding
from leaderboards.rules.mode import PLAYERS_OWN
from leaderboards.wire_scores import PendingState

DAYS = 30  # of arrival that are looked at
MOST = 20  # of a player
HELD = 1.0  # seconds that a mode's players are remembered
_MANY = 10_000  # players with something in quarantine: of more it is not remembered who
_SIZE = 1000  # modes
# by the index of what is in quarantine, which says so with this very number
_WAITS = f"state = {State.QUARANTINED.value} AND received_at >= now() - interval '{DAYS} days'"


class _Names:
    """Who of a mode has anything in quarantine: hardly anybody, so that nobody else is asked after."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[float, frozenset[int] | None]] = {}

    def of(self, mode: int, players: Collection[int]) -> list[int]:
        at, known = self._held.get(mode, (float("-inf"), None))
        if time.monotonic() - at > HELD:
            known = self._looked_up(mode)
            if len(self._held) >= _SIZE:
                self._held.clear()
            self._held[mode] = time.monotonic(), known
        return [player for player in players if known is None or player in known]

    def _looked_up(self, mode: int) -> frozenset[int] | None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT DISTINCT player_id FROM score_attempts WHERE mode_id = %s AND {_WAITS} LIMIT %s",  # noqa: S608
                [mode, _MANY + 1],
            )
            found = frozenset(player for (player,) in cursor.fetchall())
        return found if len(found) <= _MANY else None

    def forget(self) -> None:
        self._held.clear()


names = _Names()


def pending_states(board: Board, players: Sequence[int]) -> dict[int, list[PendingState]]:
    """Of each, newest first, what would count on the board. May be a second behind."""
    asked = names.of(board.mode.pk, players) if players else []
    found: dict[int, list[PendingState]] = {}
    for player, attempt_id, score, achieved_at, mask in _rows(board, asked) if asked else ():
        if board.window.id in window_ids(mask, achieved_at, board.mode.timezone):
            shown = encoding.unscale(score, board.rules.decimals)
            found.setdefault(player, []).append(
                PendingState(attempt_id=attempt_id, score=shown, achieved_at=achieved_at)
            )
    return found


_Row = tuple[int, UUID, int, datetime, int]


def _rows(board: Board, players: Sequence[int]) -> list[_Row]:
    name, _, value = board.scope.partition(":")
    submitted = name in board.mode.dimensions and name not in PLAYERS_OWN  # else it counts wherever the player is
    scope, of_scope = ("AND s.dimensions ->> %s = %s", [name, value]) if submitted else ("", [])
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT i.player, a.attempt_id, a.score, a.achieved_at, a.windows
            FROM unnest(%s::bigint[]) AS i (player) CROSS JOIN LATERAL (
                SELECT * FROM score_attempts s WHERE s.mode_id = %s AND s.player_id = i.player AND {_WAITS} {scope}
                ORDER BY s.received_at DESC, s.id DESC LIMIT %s
            ) a
            """,  # noqa: S608 - the text is ours
            [numbers(players), board.mode.pk, *of_scope, MOST],
        )
        rows: list[_Row] = cursor.fetchall()
    return rows
