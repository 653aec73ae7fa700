"""A mode's log judged anew with today's checks. What is found opens cases; no score is changed by it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from django.db import OperationalError, transaction

from anticheat import walk
from anticheat.judge import Judge
from anticheat.models import Finding
from anticheat.services.findings import findings_record
from leaderboards import partitions
from leaderboards.models import Mode
from leaderboards.verdicts import Found
from players.models import Player

KNOWN_BEFORE = timedelta(days=30)  # of play before the first attempt that is judged
PLAYERS_AT_ONCE = 250_000  # what is remembered of each is about two kilobytes
_RECORDED_AT_ONCE = 500
_TRIES = 5
Progress = Callable[[date, int, int], None]  # the day that is done, attempts walked so far, found so far


@dataclass(slots=True)
class Said:
    """What one check has to say."""

    findings: int = 0
    new: int = 0  # of them, that no case has yet
    players: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Rejudged:
    attempts: int = 0  # walked, those of the days before included
    said: dict[str, Said] = field(default_factory=dict)

    def add(self, one: Found, *, is_new: bool) -> None:
        said = self.said.setdefault(one.verdict.check, Said())
        said.findings += 1
        said.new += is_new
        said.players.add(one.player)

    @property
    def findings(self) -> int:
        return sum(said.findings for said in self.said.values())

    @property
    def players(self) -> int:
        return len(set().union(*(said.players for said in self.said.values())))


def mode_rejudge(
    *, mode: Mode, since: datetime, until: datetime, dry_run: bool = False, progress: Progress | None = None
) -> Rejudged:
    """Safe to repeat: what a check said of an attempt is recorded once. `dry_run`: nothing is written."""
    done = Rejudged()
    parts = 1 + Player.objects.filter(game=mode.game_id).count() // PLAYERS_AT_ONCE
    for part in range(parts):
        begins = since - KNOWN_BEFORE
        judge = Judge(mode, since=since, until=until)
        judge.chronicle.begin(walk.standings_before(mode, begins, part=part, parts=parts))
        for day in partitions.days_between(begins, until):
            found: list[Found] = []
            for seen in walk.attempts(mode, day, part=part, parts=parts):
                done.attempts += len(seen)
                found += judge.judged(seen)
            _record(found, done, dry_run=dry_run)
            if progress:
                progress(day, done.attempts, done.findings)
        _record(list(judge.concluded()), done, dry_run=dry_run)
    return done


def _record(found: Sequence[Found], done: Rejudged, *, dry_run: bool) -> None:
    """In order of players: whoever records at the same time waits, and nobody deadlocks; or it is done again."""
    ordered = sorted(found, key=lambda one: (one.player, one.attempt))
    for start in range(0, len(ordered), _RECORDED_AT_ONCE):
        some = ordered[start : start + _RECORDED_AT_ONCE]
        known = _known(some)
        new = [one for one in some if (one.attempt, one.verdict.check) not in known]
        if new and not dry_run:
            _recorded(new)
        for one in some:
            done.add(one, is_new=(one.attempt, one.verdict.check) not in known)


def _known(some: Iterable[Found]) -> set[tuple[int, str]]:
    asked = Finding.objects.filter(attempt__in=[one.attempt for one in some])
    return set(asked.values_list("attempt", "check_name"))


def _recorded(some: Sequence[Found]) -> None:
    for tries in range(_TRIES):
        try:
            with transaction.atomic():
                findings_record(some)
        except OperationalError:
            if tries == _TRIES - 1:
                raise
        else:
            return
