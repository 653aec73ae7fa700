"""What was known then: what players had and had done, kept while the log is walked in order of arrival.

The same questions as to the stores (leaderboards/improvements.py), answered from memory, for millions of attempts.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

from anticheat.trail import Seen
from leaderboards.history import FEWEST, PAST, PAST_DAYS
from leaderboards.improvements import Improvement, Past, turn
from leaderboards.models import Mode
from leaderboards.rules.cohort import Cohort
from leaderboards.rules.histogram import histogram_of_tally
from leaderboards.rules.instants import micros
from leaderboards.rules.windows import Kind, longest, timezone_named, window_at

_STALE_SHARE = 20  # the cohort is taken anew once one of so many players has another best
_MICROSECONDS = 1_000_000
_PAST_MICROS = PAST_DAYS * 24 * 3600 * _MICROSECONDS


class Chronicle:
    """One mode's. Holds what counts: attempts that today's checks would have held back are not told to it."""

    def __init__(self, mode: Mode) -> None:
        self.mode, self.turn = mode, turn(mode)
        self.kind = longest(mode.windows)
        self.adds = mode.aggregation == "sum"
        self.zone = timezone_named(mode.timezone)
        self._window = ""
        self._stands: dict[int, int] = {}
        self._past: dict[int, array[int]] = {}  # score, moment, score, moment, …
        self._cohort: Cohort | None = None
        self._changes = 0

    def improvement(self, one: Seen) -> Improvement | None:
        """None where nothing that stands would be better for it."""
        score, before = one.score * self.turn, self._stands.get(one.player)
        after = score + (before or 0) if self.adds else score
        if score <= 0 if self.adds else before is not None and after <= before:
            return None
        at = round(one.achieved_at * _MICROSECONDS)
        return Improvement(one.player, one.id, score, at, micros(one.received_at), before, after)

    def begin(self, stands: Mapping[int, int]) -> None:
        """With what players had before; scores as the game means them."""
        self._stands = {player: score * self.turn for player, score in stands.items()}

    def is_over(self, one: Seen) -> bool:
        """Whether the window has ended by then whose standings these are."""
        return self.kind is not Kind.ALLTIME and window_at(self.kind, one.received_at, self.zone).id != self._window

    def turn_over(self, one: Seen) -> None:
        self._window = window_at(self.kind, one.received_at, self.zone).id
        self._stands.clear()

    def add(self, one: Seen) -> None:
        score, before = one.score * self.turn, self._stands.get(one.player)
        after = score + (before or 0) if self.adds else score
        if before is None or after > before or self.mode.aggregation != "best":
            self._stands[one.player] = after
            self._changes += 1
        past = self._past.setdefault(one.player, array("q"))
        past.extend((score, round(one.achieved_at * _MICROSECONDS)))
        if len(past) > 2 * PAST:
            del past[:2]

    def past(self, some: Sequence[Improvement]) -> Mapping[int, Sequence[Past]]:
        return {one.player: self._past_of(one) for one in some if one.player in self._past}

    def _past_of(self, one: Improvement) -> list[Past]:
        past = self._past[one.player]
        newest = (Past(past[index], past[index + 1]) for index in range(len(past) - 2, -1, -2))
        return [each for each in newest if each.at > one.received - _PAST_MICROS]

    def cohort(self) -> Cohort | None:
        """A little old, as the boards' own is."""
        if self._cohort is None or self._changes * _STALE_SHARE > self._cohort.total:
            tally = Counter(self._stands.values()).items()
            self._cohort, self._changes = Cohort(histogram_of_tally(tally, dense=False), 0), 0
        return self._cohort if self._cohort.total >= FEWEST else None

    def place(self, rank: int) -> int | None:
        cohort = self.cohort()
        if cohort is None or cohort.total < rank:
            return None
        return cohort.at(1 - rank / cohort.total)
