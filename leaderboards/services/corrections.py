"""What changes where, whether and with what players are listed: rows in the stream of scores, never a direct write.

Which attempts count is in the log; where a player is listed follows from the player and its bans, read when stamping.
"""

import contextlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.signals import post_delete, post_save, pre_save

from config import valkey
from leaderboards import keys, outbox, placements
from leaderboards.errors import AttemptNotFound
from leaderboards.log import State
from leaderboards.models import Mode, Outbox, SetAside
from players.models import Ban, Player
from players.signals import player_changed, player_erased

MOST = 5000  # players a look
_MARGIN = timedelta(minutes=2)  # clocks differ, and a transaction may commit a while after the time it names
_SECONDS_REMEMBERED = 3600


def connect() -> None:
    player_changed.connect(_on_change, dispatch_uid="boards-player-changed")
    player_erased.connect(_on_erase, dispatch_uid="boards-player-erased")
    pre_save.connect(_on_ban_saving, sender=Ban, dispatch_uid="boards-ban-saving")
    post_save.connect(_on_ban, sender=Ban, dispatch_uid="boards-ban-saved")
    post_delete.connect(_on_ban, sender=Ban, dispatch_uid="boards-ban-deleted")


def players_relist(players: Iterable[int]) -> None:
    """Has the boards follow where these players are listed now. Part of the caller's transaction.

    In every mode that has scores: one that is just being stamped has no placement to see yet, and has read the old.
    Where a mode's very first score is just being logged, that is waited for.
    """
    by_mode: dict[tuple[int, int], list[int]] = {}
    concerned = [sorted(set(players))]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM players_player p JOIN leaderboards_mode m ON m.game_id = p.game_id"
            " WHERE p.id = ANY(%s) AND m.first_score_at IS NULL ORDER BY m.id FOR SHARE OF m",
            concerned,
        )
        cursor.execute(
            "SELECT m.id, m.shards, p.id FROM players_player p JOIN leaderboards_mode m ON m.game_id = p.game_id"
            " WHERE p.id = ANY(%s) AND m.first_score_at IS NOT NULL ORDER BY m.id, p.id",
            concerned,
        )
        for mode, shards, player in cursor.fetchall():
            by_mode.setdefault((mode, shards), []).append(player)
    streams = [
        stream
        for (mode, shards), found in by_mode.items()
        for stream in outbox.add_correction(mode, shards, Outbox.Kind.PLACED, found)
    ]
    transaction.on_commit(lambda: outbox.ring(streams))  # the transaction is the admin's or a service's, not ours


def players_retell(*, mode: Mode, players: Iterable[int]) -> None:
    """Has all that these players have in a mode counted anew from the log. Part of the caller's transaction."""
    concerned = sorted(set(players))
    streams = {
        stream
        for first in range(0, len(concerned), MOST)
        for stream in outbox.add_correction(mode.pk, mode.shards, Outbox.Kind.RETOLD, concerned[first : first + MOST])
    }
    transaction.on_commit(lambda: outbox.ring(sorted(streams)))


def attempt_take_back(*, mode: Mode, player: int, attempt_id: UUID) -> None:
    """It counts nowhere any more; what counted before it counts again."""
    _attempt_set(mode, player, attempt_id, before=State.ACCEPTED, after=State.TAKEN_BACK)


def attempt_restore(*, mode: Mode, player: int, attempt_id: UUID) -> None:
    _attempt_set(mode, player, attempt_id, before=State.TAKEN_BACK, after=State.ACCEPTED)


def _attempt_set(mode: Mode, player: int, attempt_id: UUID, *, before: State, after: State) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts SET state = CASE WHEN state = %s THEN %s ELSE state END"
            " WHERE player_id = %s AND attempt_id = %s AND mode_id = %s AND state IN (%s, %s)",
            [before, after, player, attempt_id, mode.pk, before, after],
        )
        if not cursor.rowcount:
            raise AttemptNotFound(f"{mode.slug} has no such attempt of that player to change.")
        players_retell(mode=mode, players=[player])


def standings_retell(*, mode: Mode) -> int:
    """Has everything that players have in a mode told anew from the log; how many players. What was set aside goes."""
    with transaction.atomic(), connection.cursor() as cursor:
        SetAside.objects.filter(mode=mode).delete()
        cursor.execute(
            "SELECT DISTINCT player_id FROM score_attempts WHERE mode_id = %s"
            " UNION SELECT player_id FROM leaderboards_placement WHERE mode_id = %s ORDER BY 1",
            [mode.pk, mode.pk],
        )
        players = [row[0] for row in cursor.fetchall()]
        players_retell(mode=mode, players=players)
    return len(players)


def bans_follow(*, now: datetime) -> int:
    """Players whose bans began or ended since the last look, listed accordingly; how many."""
    since = _looked_at()
    found = placements.misplaced_by_bans(since=since - _MARGIN if since else None, now=now, most=MOST)
    if found:
        with transaction.atomic():
            players_relist(found)
    if len(found) < MOST:
        with contextlib.suppress(valkey.ValkeyUnavailable):
            valkey.cache_set(keys.bans_looked_at(), now.isoformat(), seconds=_SECONDS_REMEMBERED)
    return len(found)


def _looked_at() -> datetime | None:
    """None: all are to be looked at. So it is once an hour, whatever was missed."""
    try:
        text = valkey.cache_get(keys.bans_looked_at())
        if valkey.cache_add(keys.all_bans_looked_at(), seconds=_SECONDS_REMEMBERED):
            return None
    except valkey.ValkeyUnavailable:
        return None
    return datetime.fromisoformat(text) if text else None


def _on_change(*, player: Player, before: dict[str, Any], **_: object) -> None:
    if before.keys() & {"region", "country"}:
        players_relist([player.pk])


def _on_erase(*, player: Player, **_: object) -> None:
    """What the player sent along may say who it was, and so may what people told it of its scores."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts SET metadata = NULL, client = NULL, reasons = NULL"
            " WHERE player_id = %s AND (metadata IS NOT NULL OR client IS NOT NULL OR reasons IS NOT NULL)",
            [player.pk],
        )
    players_relist([player.pk])


def _on_ban_saving(*, instance: Ban, **_: object) -> None:
    """The admin may move a ban to another player: then both are concerned."""
    before = Ban.objects.filter(pk=instance.pk).values_list("player_id", flat=True) if instance.pk else ()
    instance.players_concerned = {instance.player_id, *before}  # type: ignore[attr-defined]


def _on_ban(*, instance: Ban, **_: object) -> None:
    players_relist(getattr(instance, "players_concerned", {instance.player_id}) | {instance.player_id})
