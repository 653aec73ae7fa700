"""Replays: a score waits until what its player did has been played again. Who verifies them: services/verifying.py."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from django.conf import settings
from django.utils.translation import gettext_noop
from msgspec import Meta

from anticheat.checks.top import enters
from anticheat.replays import Replay
from anticheat.tuning import Act, Tuning, tuned
from config.errors import Unavailable
from leaderboards.admission import Door, Finding
from leaderboards.candidates import Candidate
from leaderboards.improvements import History, Improvement
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict, Weight

NAME = "replay"
WAITS = gettext_noop("It waits for its replay.")


class ReplayTuning(Tuning, frozen=True, kw_only=True):
    """`optional`: taken and verified, not waited for. `top`: of scores that would be among the first `k`."""

    act: Act = "quarantine"
    want: Literal["off", "optional", "top", "always"] = "off"
    k: Annotated[int, Meta(ge=1, le=10_000)] = 100
    verifier: Annotated[str, Meta(max_length=64)] = ""  # one that settings.REPLAY_VERIFIERS names

    def wrong(self, *, decimals: int) -> str:
        if self.verifier and self.verifier not in settings.REPLAY_VERIFIERS:
            return f"There is no such verifier. There are: {', '.join(sorted(settings.REPLAY_VERIFIERS)) or 'none'}."
        if self.want in ("top", "always") and not self.verifier:
            return "What waits for its replay needs a verifier."
        return ""


def wanted(mode: Mode) -> ReplayTuning:
    found = tuned(mode, NAME, ReplayTuning)
    return found if found.on else ReplayTuning()


_WAITING = Verdict(
    check=NAME,
    weight=Weight.QUARANTINE,
    reason="Its replay has not been verified yet.",
    told=WAITS,
    risk=0,  # nothing is known against who has just played
)


class ReplayAlways:
    """At the door, in modes that want the replay of every score."""

    name = NAME
    tuning = ReplayTuning

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        tuned_modes = {one.mode_id: one.mode for one in batch if one.mode.checks}
        always = {pk for pk, mode in tuned_modes.items() if wanted(mode).want == "always"}
        return {index: _WAITING for index, one in enumerate(batch) if one.mode_id in always} if always else {}


class ReplayOfTop:
    """On the way to the boards, in modes that want the replays of the best scores.

    While the boards do not answer all that improves may be among the best, and waits.
    """

    name = NAME
    tuning = ReplayTuning

    def may_hold(self, mode: Mode) -> bool:
        return bool(mode.checks) and wanted(mode).want == "top"

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        if not self.may_hold(mode):
            return {}
        try:
            last = look.place(wanted(mode).k)
        except Unavailable:
            last = None
        high = {one.attempt: index for index, one in enumerate(some) if enters(one, last)}
        verified = Replay.objects.filter(attempt__in=list(high), state=Replay.State.VERIFIED)
        for attempt in verified.values_list("attempt", flat=True):
            del high[attempt]
        return dict.fromkeys(high.values(), _WAITING)
