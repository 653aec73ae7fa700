"""Runs settings.STAMP_CHECKS over what a batch would change; what they hold back is on no board, ever.

All of it in stamping's one transaction: whatever dies, the batch is judged again from where it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils.module_loading import import_string

from config.metrics import CHECKS_FAILED
from leaderboards import folding, holding, outbox, standings, verdicts
from leaderboards.folding import Changed, Standing
from leaderboards.history import LogHistory
from leaderboards.holding import Held
from leaderboards.improvements import Improvement, StampCheck, turn
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow, Scores
from leaderboards.rules import windows
from leaderboards.rules.instants import instant_of
from leaderboards.verdicts import Found, Verdict, Weight, not_made

log = structlog.get_logger(__name__)
_SERVERS = (OperationalError, InterfaceError, MemoryError)  # not the check's doing: the batch waits
_TOO_FAR = Verdict(
    check="range",
    weight=Weight.QUARANTINE,
    reason=standings.TOO_FAR,
    told=standings.TOO_FAR,
    risk=0.3,
)


@lru_cache(maxsize=8)
def _checks(paths: tuple[str, ...]) -> list[StampCheck]:
    return [import_string(path)() for path in paths]


def checks() -> list[StampCheck]:
    return _checks(tuple(settings.STAMP_CHECKS))


def may_hold(mode: Mode) -> bool:
    """Whether an accepted score may still be held back on its way to the boards, as the mode's checks are tuned."""
    return any(check.may_hold(mode) for check in checks())


def folded(mode: Mode, commits: Sequence[Scores], now: datetime) -> list[Standing]:
    """The standings that these scores change, without those that are held back: these are set so in the log."""
    bench = _Bench(mode, now)
    held: Sequence[int]
    while True:
        try:
            changed = folding.fold(mode, commits, partial(bench.held, commits))
        except folding.Beyond:
            held = bench.too_far(commits)
        except folding.HeldBack as error:
            held = error.attempts
        else:
            break
        commits = bench.hold_back(held, commits, State.ACCEPTED)
    bench.record()
    return [row[:5] for row in changed]


def reviewed(mode: Mode, commits: Sequence[Scores], now: datetime) -> None:
    """Judges scores that were taken back before anybody could: what is held back does not count when given back.

    Nothing is folded. What people have decided about them otherwise stays.
    """
    rows = [(row.player, row.attempt, some.arrived) for some in commits for row in some.rows]
    known = holding.known(rows)
    others = {id_ for _, id_, _ in rows if id_ not in known or known[id_].state != State.TAKEN_BACK}
    left, bench = [outbox.without(others, some) for some in commits], _Bench(mode, now)
    while held := _would_be_held(bench, left):
        left = bench.hold_back(held, left, State.TAKEN_BACK)
    bench.record()


def _would_be_held(bench: "_Bench", commits: Sequence[Scores]) -> Sequence[int]:
    def judge(changed: Sequence[Changed]) -> Sequence[int]:
        raise folding.HeldBack(bench.held(commits, changed))  # whatever it says, nothing is folded

    try:
        folding.fold(bench.mode, commits, judge)
    except folding.Beyond:
        return bench.too_far(commits)
    except folding.HeldBack as error:
        return error.attempts
    return []


class _Bench:
    """Judges one batch; each attempt once, however often what is left of it is folded."""

    def __init__(self, mode: Mode, now: datetime) -> None:
        self.mode, self.turn = mode, turn(mode)
        self.kind = windows.longest(mode.windows)
        self.look = LogHistory(mode, now)
        self.seen: dict[int, Improvement] = {}  # by attempt
        self.said: dict[int, list[Verdict]] = {}
        self.recorded: set[int] = set()

    def held(self, commits: Sequence[Scores], changed: Iterable[Changed]) -> list[int]:
        """Those of the attempts behind these changes that must not count."""
        held = self._judged(self._improvements(commits, changed))
        if held and self.mode.aggregation != "sum":
            # what the same players sent besides is next in line: all of it at once, however much they sent
            held += self._judged(self._besides(commits, {self.seen[one].player: self.seen[one] for one in held}))
        return held

    def too_far(self, commits: Sequence[Scores]) -> list[int]:
        """Those that would take a total out of its range."""
        found = standings.too_far(self.mode, commits)
        for row, arrived in found:
            score = row.score * self.turn
            self.seen[row.attempt] = Improvement(row.player, row.attempt, score, row.at, arrived, None, score)
            self.said[row.attempt] = [_TOO_FAR]
        return [row.attempt for row, _ in found]

    def hold_back(self, held: Sequence[int], commits: Sequence[Scores], counted_as: State) -> list[Scores]:
        """Sets them so in the log; what is left of the batch. Recorded first: cases are locked before attempts."""
        self.record()
        since = instant_of(min(self.seen[attempt].received for attempt in held))
        holding.hold_back(self._sentences(held), since=since, counted_as=counted_as)
        return [outbox.without(set(held), some) for some in commits]

    def _sentences(self, attempts: Iterable[int]) -> list[Held]:
        """What is set in the log: the heaviest verdict's state, and all that the player may know."""
        return [
            Held(
                player=self.seen[attempt].player,
                id=attempt,
                state=max(verdict.state for verdict in self.said[attempt]),
                reasons=[one.heard for one in self.said[attempt] if one.heard],
            )
            for attempt in attempts
        ]

    def record(self) -> None:
        """What was said since the last time."""
        new = self.said.keys() - self.recorded
        if not new:
            return
        self.recorded |= new
        known = holding.known([(self.seen[one].player, one, self.seen[one].received) for one in sorted(new)])
        verdicts.record(
            [
                Found(self.mode, known[attempt].player, attempt, *known[attempt][1:4], verdict)
                for attempt in known
                for verdict in self.said[attempt]
            ]
        )

    def _judged(self, some: Sequence[Improvement]) -> list[int]:
        if not some:
            return []
        self.seen |= {one.attempt: one for one in some}
        said: dict[int, list[Verdict]] = {}
        for check in checks():
            for index, verdict in self._verdicts(check, some).items():
                said.setdefault(some[index].attempt, []).append(verdict)
        self.said |= said
        return [attempt for attempt, found in said.items() if max(one.weight for one in found) is not Weight.FLAG]

    def _verdicts(self, check: StampCheck, some: Sequence[Improvement]) -> Mapping[int, Verdict]:
        try:
            return check.judge(self.mode, some, self.look)
        except _SERVERS:
            raise
        except Exception:  # as at the door; one that would only have flagged holds nothing back
            name = type(check).__name__
            CHECKS_FAILED.labels(name).inc()
            log.exception("check_failed", check=name, mode=self.mode.pk)
            return dict.fromkeys(range(len(some)), not_made(check)) if check.may_hold(self.mode) else {}

    def _improvements(self, commits: Sequence[Scores], changed: Iterable[Changed]) -> list[Improvement]:
        """Of changes in the longest window those for the better, of attempts that were not looked at yet."""
        kind, turned, seen = self.kind.value, self.turn, self.seen
        if self.mode.aggregation == "sum":
            return self._additions(commits, {row[0]: row for row in changed if not row[2] and row[1].startswith(kind)})
        return [
            Improvement(player, attempt, s := score * turned, at, arrived, b, s)
            for player, window, scope, score, at, attempt, arrived, before in changed
            if not scope
            and window.startswith(kind)
            and attempt not in seen
            and ((b := None if before is None else before * turned) is None or score * turned > b)
        ]

    def _additions(self, commits: Sequence[Scores], changed: Mapping[int, Changed]) -> list[Improvement]:
        """Where scores add up each of them does: one after the other, from what stood before."""
        stands: dict[int, int | None] = {player: row[-1] for player, row in changed.items()}
        found = []
        for row, arrived in self._counting(commits):
            before = stands.get(row.player)
            stands[row.player] = after = (before or 0) + row.score
            if row.score * self.turn > 0 and row.attempt not in self.seen:
                turned = None if before is None else before * self.turn
                found.append(
                    Improvement(
                        row.player, row.attempt, row.score * self.turn, row.at, arrived, turned, after * self.turn
                    )
                )
        return found

    def _besides(self, commits: Sequence[Scores], held: Mapping[int, Improvement]) -> list[Improvement]:
        """What else players sent of whom something is held back, as far as it betters what stands."""
        found = []
        for row, arrived in self._counting(commits):
            known = held.get(row.player)
            if known is None or row.attempt in self.seen:
                continue
            score = row.score * self.turn
            if known.before is None or score > known.before:
                found.append(Improvement(row.player, row.attempt, score, row.at, arrived, known.before, score))
        return found

    def _counting(self, commits: Sequence[Scores]) -> Iterable[tuple[ScoreRow, int]]:
        """Those that count in the longest window."""
        bit = windows.KINDS.index(self.kind)
        return ((row, some.arrived) for some in commits for row in some.rows if row.windows >> bit & 1)
