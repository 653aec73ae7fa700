"""What nobody needs any more."""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Greatest

from leaderboards.boards import leftovers, store
from leaderboards.boards.store import Slot
from leaderboards.hot import is_hot
from leaderboards.models import Mode, Stamp, Standing, Stream
from leaderboards.rules.windows import timezone_named, window_at
from leaderboards.services.corrections import standings_retell

log = structlog.get_logger(__name__)
STAMPS_KEPT = timedelta(days=1)  # the tail that a failover may lose is far shorter
ERASED_LATELY = timedelta(hours=6)  # whatever was on its way then has long arrived, and this was done many times
_MOST = 10_000  # rows a statement
_MARGIN = timedelta(minutes=1)  # by which clocks of two databases may differ, of which one takes over


def stamps_purge(*, now: datetime) -> int:
    """Batches of more than a day ago that the boards show; how many. What they do not show yet stays."""
    purged = 0
    for mode_id, shard, generation in Stream.objects.values_list("mode_id", "shard", "mode__generation"):
        mark = store.mark(Slot(mode_id, shard, generation))
        if mark is None:
            continue
        old = Stamp.objects.filter(mode_id=mode_id, shard=shard, seq__lte=mark, created_at__lt=now - STAMPS_KEPT)
        while last := list(old.order_by("seq").values_list("seq", flat=True)[:_MOST]):
            purged += old.filter(seq__lte=last[-1]).delete()[0]
    return purged + _purge_streamless(now)


def _purge_streamless(now: datetime) -> int:
    """Those of shards that a mode had more of."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM leaderboards_stamp p USING leaderboards_mode m
            WHERE m.id = p.mode_id AND p.shard >= m.shards AND p.created_at < %s
            """,
            [now - STAMPS_KEPT],
        )
        rows: int = cursor.rowcount
    return rows


def boards_purge() -> int:
    """Boards that nobody can come to any more, as rebuilds leave them that were killed; of how many keys.

    What modes show is asked after the names were found, and for each piece again; nothing is held meanwhile.
    """
    purged = 0
    for some in leftovers.named():
        shown = Mode.objects.in_bulk({slot.mode for slot, _ in some})
        purged += leftovers.remove([name for slot, name in some if _is_left(slot, shown.get(slot.mode))])
    if purged:
        log.info("boards_purged", keys=purged)
    return purged


def _is_left(slot: Slot, mode: Mode | None) -> bool:
    """Once so, so for ever, so that nothing which is rebuilt or resharded between the look and the removal is harmed.

    A mode is committed before its first key is written, and the names were found first. Generations only rise: none but
    the next is ever filled, none but its own ever mended, over as many shards as the commit says that shows it. The one
    before is left to readers on their way.
    """
    if mode is None:
        return True
    if slot.generation == mode.generation:  # a mode without scores may be given other shards in the same generation
        return slot.shard >= mode.shards and mode.first_score_at is not None
    return slot.generation <= mode.generation - 2


def standings_purge(*, now: datetime) -> int:
    """Those of windows whose boards have expired; how many. The log has what they were made of: `standings_remake`."""
    purged = 0
    for mode in Mode.objects.filter(first_score_at__isnull=False):
        found = Standing.objects.filter(mode=mode).order_by().values_list("window", flat=True).distinct()
        cold = [window for window in found if not is_hot(window, mode.timezone, now)]
        if cold:  # noted first: a purge may be killed
            Mode.objects.filter(pk=mode.pk).update(standings_purged_at=Greatest("standings_purged_at", now))
        while cold and (rows := _delete_some(mode, cold)):
            purged += rows
    return purged


def standings_remake(*, now: datetime) -> int:
    """Counts modes anew from the log whose standings were purged by a clock that was ahead of `now`; how many modes.

    Example: all clocks said May, April's boards were purged, and now they say April again.
    """
    remade = 0
    for mode in Mode.objects.filter(standings_purged_at__gt=now + _MARGIN):
        purged_at = mode.standings_purged_at
        with transaction.atomic():
            if purged_at is not None and _has_purged(mode, since=now, until=purged_at):
                log.error("standings_remade", mode=mode.pk, purged_at=purged_at.isoformat(), why="clock set back")
                standings_retell(mode=mode)
                remade += 1
            Mode.objects.filter(pk=mode.pk).update(standings_purged_at=now)
    return remade


def _has_purged(mode: Mode, *, since: datetime, until: datetime) -> bool:
    """Whether boards of some window expire between the two: a purge at `until` has deleted what is hot at `since`."""
    for kind in mode.windows:
        hot_for = timedelta(days=settings.HOT_DAYS.get(kind, 0))
        ended_at = window_at(kind, until - hot_for, timezone_named(mode.timezone)).starts_at  # the last before that one
        if ended_at is not None and ended_at + hot_for > since:
            return True
    return False


def erased_attempts_scrub(*, now: datetime) -> int:
    """What was sent along with scores that were on their way while their player was erased; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE score_attempts a SET metadata = NULL, client = NULL FROM players_erasedid e
            WHERE e.erased_at > %s AND a.player_id = e.player_id AND a.received_at > %s
            AND (a.metadata IS NOT NULL OR a.client IS NOT NULL)
            """,
            [now - ERASED_LATELY, now - 2 * ERASED_LATELY],
        )
        rows: int = cursor.rowcount
    return rows


def _delete_some(mode: Mode, windows: list[str]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM leaderboards_standing WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM leaderboards_standing WHERE mode_id = %s AND "window" = ANY(%s) LIMIT %s
            ))
            """,
            [mode.pk, windows, _MOST],
        )
        rows: int = cursor.rowcount
    return rows
