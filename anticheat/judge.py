"""Today's checks over attempts in order of arrival, each with what was known then: the log judged anew."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.utils.module_loading import import_string

from anticheat.checks.habits import Habit
from anticheat.checks.model import Model
from anticheat.chronicle import Chronicle
from anticheat.features import Features
from anticheat.trail import Seen, Trail
from leaderboards.improvements import Improvement, StampCheck
from leaderboards.models import Mode
from leaderboards.verdicts import Found, Verdict, Weight

AT_ONCE = 500  # improvements judged together


class Judge:
    """Is shown every attempt of some players, in order; says something of those from `since` on."""

    def __init__(self, mode: Mode, *, since: datetime, until: datetime) -> None:
        self.mode, self.since, self.until = mode, since, until
        self.chronicle = Chronicle(mode)
        self.checks: list[StampCheck] = [import_string(path)() for path in settings.STAMP_CHECKS]
        self.habits: list[Habit] = [import_string(path)(mode) for path in settings.LOG_CHECKS]
        self.trails: defaultdict[int, Trail] = defaultdict(Trail)
        self.model = Model(mode)
        self.features: defaultdict[int, Features] = defaultdict(Features)  # kept where there is a model
        self.waiting: dict[int, tuple[Seen, Improvement]] = {}  # by player: judged together, each player once

    def judged(self, some: Iterable[Seen]) -> Iterator[Found]:
        for one in some:
            trail = self.trails[one.player]
            trail.add(one)
            if self.model.forest:
                self.features[one.player].add(trail)
            if self._is_asked(one):
                yield from self._habitual(one, trail)
            if one.counts:
                yield from self._counted(one)
        yield from self._settled()

    def concluded(self) -> Iterator[Found]:
        """At the end: what the model makes of players as a whole."""
        for player, features in self.features.items():
            trail = self.trails[player]
            if self._is_asked(trail.latest) and (verdict := self.model.look(features, trail)):
                yield _found(self.mode, trail.latest, verdict)

    def _is_asked(self, one: Seen) -> bool:
        return self.since <= one.received_at < self.until

    def _habitual(self, one: Seen, trail: Trail) -> Iterator[Found]:
        """What a habit says of a player it says once a day: of each attempt it would be the same again."""
        today = one.received_at.toordinal()
        for habit in self.habits:
            if trail.told.get(habit.name) != today and (verdict := habit.look(trail)):
                trail.told[habit.name] = today
                yield _found(self.mode, one, verdict)

    def _counted(self, one: Seen) -> Iterator[Found]:
        if one.player in self.waiting or len(self.waiting) == AT_ONCE or self.chronicle.is_over(one):
            yield from self._settled()
            if self.chronicle.is_over(one):
                self.chronicle.turn_over(one)
        improvement = self.chronicle.improvement(one)
        if improvement is None or not self._is_asked(one):
            self.chronicle.add(one)
        else:
            self.waiting[one.player] = one, improvement

    def _settled(self) -> Iterator[Found]:
        """What would have been held back then is not part of what is known afterwards."""
        waiting = list(self.waiting.values())
        self.waiting.clear()
        verdicts = self._verdicts([improvement for _, improvement in waiting]) if waiting else {}
        for index, (one, _) in enumerate(waiting):
            said = verdicts.get(index, [])
            yield from (_found(self.mode, one, verdict) for verdict in said)
            if all(verdict.weight is Weight.FLAG for verdict in said):
                self.chronicle.add(one)

    def _verdicts(self, some: Sequence[Improvement]) -> dict[int, list[Verdict]]:
        said: dict[int, list[Verdict]] = {}
        for check in self.checks:
            for index, verdict in check.judge(self.mode, some, self.chronicle).items():
                said.setdefault(index, []).append(verdict)
        return said


def _found(mode: Mode, one: Seen, verdict: Verdict) -> Found:
    """What stands on the boards stays there until somebody decides: afterwards the heaviest verdict is a flag too."""
    if verdict.weight is not Weight.FLAG:
        would = {**verdict.details, "today": verdict.weight.name.lower()}
        verdict = replace(verdict, weight=Weight.FLAG, told="", details=would)
    return Found(mode, one.player, one.id, one.attempt_id, one.received_at, one.score, verdict)
