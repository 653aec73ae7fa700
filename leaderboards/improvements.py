"""What checks with history are asked about, and what they may look at. Here more is better, whatever the mode's order.

The same classes judge when a batch is stamped and when the log is judged anew: they know only what they are given.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from leaderboards.models import Mode
from leaderboards.rules.cohort import Cohort
from leaderboards.verdicts import Verdict


class Improvement(NamedTuple):
    """An attempt that would change what stands, in the mode's longest window, for the better.

    Scores are scaled, and turned so that more is better; times are microseconds since 1970.
    """

    player: int
    attempt: int  # id in the log
    score: int  # the attempt's own
    at: int
    received: int
    before: int | None  # what stands; None: nothing does
    after: int  # what would stand: the total where scores add up, else the score


class Past(NamedTuple):
    """An attempt that was accepted earlier."""

    score: int
    at: int


class History(Protocol):
    """Asked only where there is need: each answer may cost a query."""

    def past(self, some: Sequence[Improvement]) -> Mapping[int, Sequence[Past]]:
        """By player: the last attempts that counted before the first of these, newest first.

        Fifty at most of each, of the seven days before it; of who plays by the thousand a day, of some of them.
        """
        ...

    def cohort(self) -> Cohort | None:
        """All players' standings in the mode's longest window; None where too little is known of them."""
        ...

    def place(self, rank: int) -> int | None:
        """The score of the entry with this rank; None where there are not so many.

        Raises Unavailable where the boards do not answer.
        """
        ...


class StampCheck(Protocol):
    """One of settings.STAMP_CHECKS."""

    name: str

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        """By index; of the others there is nothing to say."""
        ...

    def may_hold(self, mode: Mode) -> bool:
        """Whether it may quarantine or reject in this mode, as that is tuned."""
        ...


def turn(mode: Mode) -> int:
    """What a score is multiplied with so that more is better, and once more to have it back."""
    return 1 if mode.order == "desc" else -1
