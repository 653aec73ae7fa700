"""What is going on, in numbers that cost little: nothing here counts a large table."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from psycopg import sql

from anticheat.models import Case, Finding, Rollback, Ruling
from config.errors import Unavailable
from leaderboards import partitions, ranking
from leaderboards.boards.board import longest_board
from leaderboards.lag import seconds_behind
from leaderboards.models import Mode
from players.models import Player

MOST = 10_000  # so far is counted
_PAGES = 200  # of the end of today's log: some ten thousand rows
_MINUTE = timedelta(minutes=1)
_MODES = 5
_MOVERS = 5
_TOP = 100


@dataclass(frozen=True, slots=True)
class Mover:
    """Somebody whose score of today stands among the first hundred of all time."""

    player: int
    name: str
    mode: str
    rank: int


@dataclass(frozen=True, slots=True)
class Glance:
    scores_a_second: float
    seconds_behind: float
    open_cases: int
    oldest_case: datetime | None
    flagged_today: int
    attempts_today: int  # as PostgreSQL estimates it
    proposed: int
    rollbacks: list[Rollback]
    movers: list[Mover]

    @property
    def flagged_percent(self) -> float | None:
        return 100 * self.flagged_today / self.attempts_today if self.attempts_today else None


def glance(*, now: datetime) -> Glance:
    waiting = Case.objects.filter(state=Case.State.OPEN)
    moving = [Rollback.State.WAITING, Rollback.State.RUNNING, Rollback.State.UNDOING]
    today, _ = partitions.span_of(partitions.day_of(now))
    latest = Finding.objects.order_by("-pk").values("pk")[:MOST]
    return Glance(
        scores_a_second=_scores_a_second(now),
        seconds_behind=seconds_behind(now=now),
        open_cases=waiting.order_by()[:MOST].count(),
        oldest_case=waiting.order_by("opened_at").values_list("opened_at", flat=True).first(),
        flagged_today=Finding.objects.filter(pk__in=latest, found_at__gte=today).count(),
        attempts_today=_attempts_today(now),
        proposed=Ruling.objects.filter(state=Ruling.State.PROPOSED).order_by()[:MOST].count(),
        rollbacks=list(Rollback.objects.filter(state__in=moving).select_related("game", "mode", "player")[:_MOVERS]),
        movers=_movers(now, today),
    )


def _scores_a_second(now: datetime) -> float:
    """From the end of today's log, where the newest lie: those of the last minute, or as far as was looked."""
    name = partitions.name(partitions.day_of(now))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size(to_regclass(%s)) / 8192", [name])
        (pages,) = cursor.fetchone()
        if not pages:
            return 0.0
        cursor.execute(
            sql.SQL("SELECT count(*), min(received_at) FROM {} WHERE ctid >= %s::tid AND received_at > %s").format(
                sql.Identifier(name)
            ),
            [f"({max(0, pages - _PAGES)},0)", now - _MINUTE],
        )
        count, first = cursor.fetchone()
    whole = pages <= _PAGES or not count or now - first >= _MINUTE * 0.95
    seconds = _MINUTE.total_seconds() if whole else max(0.1, (now - first).total_seconds())
    return float(count / seconds)


def _attempts_today(now: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(n_live_tup), 0) FROM pg_stat_user_tables WHERE relname = %s",
            [partitions.name(partitions.day_of(now))],
        )
        return int(cursor.fetchone()[0])


def _movers(now: datetime, today: datetime) -> list[Mover]:
    """The boards of a few modes: those that were played last are not known without asking all."""
    found = []
    for mode in Mode.objects.filter(active=True, first_score_at__isnull=False).select_related("game")[:_MODES]:
        try:
            entries = ranking.page(longest_board(mode, at=now), offset=0, limit=_TOP)
        except Unavailable:
            continue
        found += [(one, mode) for one in entries.entries if one.achieved_at and one.achieved_at >= today]
    best = sorted(found, key=lambda one: one[0].rank)[:_MOVERS]
    names = dict(Player.objects.filter(pk__in=[one.player for one, _ in best]).values_list("pk", "display_name"))
    return [Mover(one.player, names.get(one.player, ""), str(mode), one.rank) for one, mode in best]
