"""The top of the board: a score that would enter it waits for a look."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from django.utils.translation import gettext_noop
from msgspec import Meta

from anticheat.tuning import Act, Tuning, tuned
from config.errors import Unavailable
from leaderboards.improvements import History, Improvement
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class TopTuning(Tuning, frozen=True, kw_only=True):
    act: Act = "quarantine"
    k: Annotated[int, Meta(ge=0, le=10_000)] = 0  # how many places; 0: none
    risk: Annotated[float, Meta(gt=0, lt=1)] = 0.1  # nothing is known against who plays well


class Top:
    """Says nothing until a mode declares how many places are looked after, and while the boards do not answer."""

    name = "top"
    tuning = TopTuning

    def may_hold(self, mode: Mode) -> bool:
        tuning = tuned(mode, self.name, TopTuning)
        return tuning.may_hold and tuning.k > 0

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        tuning = tuned(mode, self.name, TopTuning)
        if not tuning.on or not tuning.k:
            return {}
        try:
            last = look.place(tuning.k)
        except Unavailable:
            return {}
        verdict = Verdict(
            check=self.name,
            weight=tuning.weight,
            reason=f"It would be among the first {tuning.k}.",
            told=gettext_noop("A score at the top of the board is looked at first."),
            risk=tuning.risk,
            details={"k": tuning.k},
        )
        return {index: verdict for index, one in enumerate(some) if enters(one, last)}


def enters(one: Improvement, last: int | None) -> bool:
    """`last`: what the last of the top has; None where there is room."""
    return last is None or one.after > last
