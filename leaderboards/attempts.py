"""What became of attempts: read from the log, a player at a time."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from django.db import connection, connections

from config import replica, wire
from leaderboards import cursors
from leaderboards.cursors import AttemptCursor
from leaderboards.errors import AttemptNotFound
from leaderboards.log import State
from leaderboards.rules import encoding, windows
from leaderboards.rules.instants import instant_of, micros
from leaderboards.rules.mode import PLAYERS_OWN
from leaderboards.wire_scores import AttemptList, AttemptsQuery, AttemptState
from players.models import Player

_REASONED = (State.QUARANTINED, State.REJECTED)  # of the others the log may have some that hold no more
_COLUMNS = """
SELECT a.attempt_id, m.slug, m.decimals, m.timezone, a.state, a.score, a.achieved_at, a.received_at, a.windows,
    a.dimensions, a.metadata::text, a.reasons, a.left_out, a.id
FROM score_attempts a JOIN leaderboards_mode m ON m.id = a.mode_id
WHERE a.player_id = %s
"""


def window_ids(mask: int, achieved_at: datetime, timezone: str) -> list[str]:
    """The windows that an attempt counts in, by the bits that the log has for them."""
    return list(_window_ids(mask, achieved_at.replace(microsecond=0), timezone))


@lru_cache(maxsize=1024)
def _window_ids(mask: int, second: datetime, timezone: str) -> tuple[str, ...]:
    """Windows begin with a second, so that all of it lies in the same ones."""
    zone = windows.timezone_named(timezone)
    kinds = [kind for bit, kind in enumerate(windows.KINDS) if mask >> bit & 1]
    return tuple(windows.window_at(kind, second, zone).id for kind in kinds)


def attempt_state(*, player: Player, attempt_id: str) -> AttemptState:
    """The last one, where an id was used again after its time. Asked of the primary: whoever asks has just sent it."""
    rows: list[Any] = []
    if wanted := wire.uuid(attempt_id):  # what cannot be an id is nobody's
        last = "AND a.attempt_id = %s ORDER BY a.received_at DESC LIMIT 1"
        rows = _rows(replica.PRIMARY, last, [player.pk, wanted])
    if not rows:
        raise AttemptNotFound(f"{player.player_id} has no attempt {attempt_id[:64]!r}.")
    return _state(rows[0])


def attempt_list(*, player: Player, asked: AttemptsQuery) -> AttemptList:
    """Newest first. May be a second behind."""
    where = ""
    params: list[Any] = [player.pk]
    if asked.cursor is not None:
        cursor = cursors.read(asked.cursor, AttemptCursor)
        if cursor.player != player.pk:
            raise cursors.refusal("is one of another player")
        where = "AND (a.received_at, a.id) < (%s, %s)"
        params += [instant_of(cursor.received), cursor.id]
    some = f"{where} ORDER BY a.received_at DESC, a.id DESC LIMIT %s"
    rows = replica.read(lambda database: _rows(database, some, [*params, asked.limit + 1]))
    shown, last = rows[: asked.limit], rows[asked.limit - 1 : asked.limit]
    return AttemptList(
        attempts=[_state(row) for row in shown],
        next_cursor=_cursor(player, last[0]) if len(rows) > asked.limit else None,
    )


def metadata_of(mode: int, window: str, scope: str, players: Sequence[int]) -> dict[int, Any]:
    """Of the attempts that count on a board: by player, looked for on the day they arrived."""
    submitted = "" if scope == "global" or scope.partition(":")[0] in PLAYERS_OWN else scope
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT s.player_id, a.metadata FROM leaderboards_standing s CROSS JOIN LATERAL (
                SELECT a.metadata::text FROM score_attempts a
                WHERE a.player_id = s.player_id AND a.received_at = s.received_at AND a.id = s.attempt LIMIT 1
            ) a
            WHERE s.mode_id = %s AND s.player_id = ANY(%s) AND s."window" = %s AND s.scope = %s
                AND a.metadata IS NOT NULL
            """,
            [mode, list(players), window, submitted],
        )
        return {player: msgspec.json.decode(metadata) for player, metadata in cursor.fetchall()}


def _rows(database: str, rest: str, params: Sequence[Any]) -> list[Any]:
    with connections[database].cursor() as cursor:
        cursor.execute(_COLUMNS + rest, params)
        return list(cursor.fetchall())


def _cursor(player: Player, row: Any) -> str:
    received, id_ = row[7], row[-1]
    return cursors.write(AttemptCursor(player.pk, micros(received), id_))


def _state(row: Any) -> AttemptState:
    (
        attempt_id,
        mode,
        decimals,
        timezone,
        state,
        score,
        achieved,
        received,
        mask,
        dimensions,
        metadata,
        reasons,
        left,
        _,
    ) = row
    left_out: dict[str, str] = msgspec.json.decode(left) if left else {}
    return AttemptState(
        attempt_id=attempt_id,
        mode=mode,
        state=State(state).name.lower(),
        score=encoding.unscale(score, decimals),
        achieved_at=achieved,
        received_at=received,
        windows=window_ids(mask, achieved, timezone),
        dimensions=(msgspec.json.decode(dimensions) if dimensions else {}) | left_out,
        scopes_left_out=[f"{name}:{value}" for name, value in sorted(left_out.items())],
        metadata=msgspec.json.decode(metadata) if metadata else None,
        reasons=msgspec.json.decode(reasons) if reasons and state in _REASONED else [],
    )
