"""Who may not submit, and where, remembered in the process while they are few: every submission asks."""

from collections.abc import Collection
from datetime import datetime

from django.db import connection
from django.db.models.signals import post_delete, post_save
from django.utils import timezone

from config.recall import Recall, forget_after_commit
from players.models import Ban
from players.selectors import Banned, players_banned

BARRING = (Ban.Kind.BAN, Ban.Kind.SUSPENSION)  # who is shadow banned is not to notice, who is hidden may go on
ENDS_AT = "least(ends_at, timestamptz '9000-01-01 00:00+00')"  # as far as Python can read and add; none: the same
_FEW = 10_000
_Bars = dict[int, list[tuple[int | None, datetime, datetime | None]]]  # by player: the mode, from when, until when
_MANY: _Bars = {}


def players_barred(players: Collection[int], *, at: datetime) -> Banned:
    """Those among them who are barred at that moment, and from what, as far as this process has heard."""
    if not players:
        return set()
    bars = _remembered.get("all games")
    if bars is None or bars is _MANY:
        return players_banned(players, kinds=BARRING, at=at)
    if not bars:
        return set()
    return {(one, bar[0]) for one in players if one in bars for bar in bars[one] if holds(*bar[1:], at=at)}


def holds(starts: datetime, ends: datetime | None, *, at: datetime) -> bool:
    return starts <= at and (ends is None or at < ends)


def _load(_: str) -> _Bars:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT player_id, mode_id, starts_at, {ENDS_AT} FROM players_ban"  # noqa: S608 - the text is ours
            " WHERE (ends_at IS NULL OR ends_at > %s) AND kind = ANY(%s) LIMIT %s",
            [timezone.now(), list(BARRING), _FEW + 1],
        )
        found = cursor.fetchall()
    if len(found) > _FEW:
        return _MANY
    bars: _Bars = {}
    for player, mode, starts, ends in found:
        bars.setdefault(player, []).append((mode, starts, ends))
    return bars


_remembered: Recall[str, _Bars] = Recall(_load)


def _on_ban(**_: object) -> None:
    forget_after_commit()


def connect() -> None:
    post_save.connect(_on_ban, sender=Ban, dispatch_uid="forget-bars-saved")
    post_delete.connect(_on_ban, sender=Ban, dispatch_uid="forget-bars-deleted")
