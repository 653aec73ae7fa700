"""Everything that is known about one player, for who decides: read with a bounded number of queries."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from anticheat.models import Case, Finding, Ruling
from anticheat.replays import Replay
from config.errors import Unavailable
from leaderboards.boards.board import Board, Entry, board_named
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.whereabouts import standing
from players.models import Ban, Player

MOST_ATTEMPTS = 200
MOST_FINDINGS = 100
MOST_MODES = 20
_MOST_RULINGS = 50
_SELECT = "SELECT id, attempt_id, mode_id, score, state, achieved_at, received_at, reasons, client FROM score_attempts"


class Attempt(NamedTuple):
    """One as the log has it."""

    id: int
    attempt_id: UUID
    mode_id: int
    raw: int
    score: Decimal | int
    state: State
    achieved_at: datetime
    received_at: datetime
    told: list[str]  # what the player knows of it
    client: dict[str, Any]

    @property
    def state_word(self) -> str:
        return {
            State.ACCEPTED: "counts",
            State.QUARANTINED: "waits",
            State.REJECTED: "disqualified",
            State.TAKEN_BACK: "taken back",
        }[self.state]


class Place(NamedTuple):
    """Where a player stands on one board; no entry: it is not on it."""

    board: Board
    entry: Entry | None
    total: int

    @property
    def score(self) -> Decimal | int | None:
        return None if self.entry is None else encoding.unscale(self.entry.score, self.board.mode.decimals)


def attempts_of(player: int, modes: Collection[Mode], *, most: int = MOST_ATTEMPTS) -> list[Attempt]:
    """The newest first."""
    decimals = {mode.pk: mode.decimals for mode in modes}
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} WHERE player_id = %s AND mode_id = ANY(%s) ORDER BY received_at DESC, id DESC LIMIT %s",
            [player, list(decimals), most],
        )
        return [_attempt(row, decimals) for row in cursor.fetchall()]


def attempts_found(player: int, mode: Mode, findings: Sequence[Finding]) -> dict[int, Attempt]:
    """Those that checks spoke of, by id, however old; without those that the log has no more."""
    where = sorted({(one.received_at, one.attempt) for one in findings})
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_SELECT} WHERE player_id = %s AND mode_id = %s AND received_at = ANY(%s) AND id = ANY(%s)",
            [player, mode.pk, [at for at, _ in where], [id_ for _, id_ in where]],
        )
        return {row[0]: _attempt(row, {mode.pk: mode.decimals}) for row in cursor.fetchall()}


def _attempt(row: Sequence[Any], decimals: dict[int, int]) -> Attempt:
    id_, attempt, mode, raw, state, achieved, received, reasons, client = row
    score = encoding.unscale(raw, decimals[mode])
    told, where = json.loads(reasons or "[]"), json.loads(client or "{}")
    return Attempt(id_, attempt, mode, raw, score, State(state), achieved, received, told, where)


def replays_of(attempts: Sequence[Attempt]) -> dict[int, Replay]:
    """Of those that have one, by the attempt's id in the log."""
    return {one.attempt: one for one in Replay.objects.filter(attempt__in=[attempt.id for attempt in attempts])}


def findings_of(case: Case) -> list[Finding]:
    return list(Finding.objects.filter(case=case)[:MOST_FINDINGS])


def rulings_of(player: Player) -> list[Ruling]:
    """About this player alone, in any of its modes."""
    found = Ruling.objects.filter(player=player).select_related("by", "by_key", "undone_by", "mode__game", "rollback")
    return list(found[:_MOST_RULINGS])


def bans_of(player: Player) -> list[Ban]:
    return list(Ban.objects.filter(player=player).select_related("mode", "made_by")[:_MOST_RULINGS])


def cases_of(player: Player) -> QuerySet[Case]:
    return Case.objects.filter(player=player).select_related("mode__game", "player").order_by("-updated_at")


def modes_of(player: Player) -> list[Mode]:
    """Those of its game, played or not."""
    return list(Mode.objects.filter(game=player.game_id).select_related("game").order_by("slug")[:MOST_MODES])


def places_of(player: Player, modes: Sequence[Mode], *, now: datetime) -> list[Place]:
    """On the global board of each running window of these modes; nothing while the boards do not answer."""
    found = []
    for mode in modes:
        for kind in mode.windows:
            board = board_named(mode=mode, window=kind, scope="global", at=now)
            try:
                page, entry = standing(board, player.pk)
            except Unavailable:
                continue
            found.append(Place(board, entry, page.total))
    return found
