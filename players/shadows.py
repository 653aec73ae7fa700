"""Who sees itself where nobody else does: the shadow banned, remembered in the process while they are few.

Every read with a player token asks. What makes a process forget bans (players/bars.py) makes it forget these.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from config.recall import Recall
from players.bars import ENDS_AT, holds
from players.models import Ban

_FEW = 10_000
_LINGERS = timedelta(minutes=1)  # until the boards, which follow within seconds, show everybody who is back
_SHADOW = Ban.Kind.SHADOW.value


class _Bar(NamedTuple):
    kind: str
    mode: int | None
    starts: datetime
    ends: datetime | None

    def holds(self, mode: int, at: datetime) -> bool:
        ends = self.ends + _LINGERS if self.ends and self.kind == _SHADOW else self.ends
        return self.mode in (None, mode) and holds(self.starts, ends, at=at)


class _Shadowed(NamedTuple):
    player: int
    bars: list[_Bar]  # of every kind: who is banned as well is off the boards for itself too


_Id = tuple[int, str]  # game, player_id
_Shadows = dict[_Id, _Shadowed]
_MANY: _Shadows = {}


def player_shadowed(game: int, player_id: str, *, mode: int, at: datetime) -> int | None:
    """The pk of a player whom nobody else is to see in that mode; None: there is nothing to hide."""
    shadows = _remembered.get("all games")
    if shadows is None or shadows is _MANY:
        if "\0" in player_id:
            return None  # which PostgreSQL refuses, and nobody is called
        shadows = _gathered(_rows(_ONE, [game, player_id]))
    found = shadows.get((game, player_id))
    if found is None:
        return None
    kinds = {bar.kind for bar in found.bars if bar.holds(mode, at)}
    return found.player if kinds == {_SHADOW} else None


def shadows_look_again() -> None:
    """Who asks next is told what the database says then: news from another process may still be on its way."""
    _remembered.drop()


def _load(_: str) -> _Shadows:
    found = _rows(_ALL, [_SHADOW, timezone.now() - _LINGERS])
    return _MANY if len(found) > _FEW else _gathered(found)


def _rows(statement: str, params: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [*params, _FEW + 1])
        return list(cursor.fetchall())


_BANS = f"""
SELECT p.game_id, p.player_id, p.id, b.kind, b.mode_id, b.starts_at, {ENDS_AT}
FROM players_ban b JOIN players_player p ON p.id = b.player_id WHERE p.player_id IS NOT NULL AND
"""  # noqa: S608 - the text is ours
_ONE = f"{_BANS} p.game_id = %s AND p.player_id = %s LIMIT %s"
_ALL = f"""{_BANS} b.player_id = ANY(ARRAY(
    SELECT player_id FROM players_ban WHERE kind = %s AND (ends_at IS NULL OR ends_at > %s)
)) LIMIT %s"""  # noqa: S608 - the text is ours


def _gathered(rows: Iterable[Any]) -> _Shadows:
    shadows: _Shadows = {}
    for game, player_id, player, *bar in rows:
        shadows.setdefault((game, player_id), _Shadowed(player, [])).bars.append(_Bar(*bar))
    return shadows


_remembered: Recall[str, _Shadows] = Recall(_load)
