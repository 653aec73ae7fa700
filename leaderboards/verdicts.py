"""What checks say of scores, and who is told: leaderboards knows nothing of cases, and hands findings over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import OperationalError, transaction
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from config.metrics import CHECKS_FAILED, VERDICTS
from leaderboards.log import State
from leaderboards.models import Mode

log = structlog.get_logger(__name__)
UNCHECKED = gettext_noop("A check could not be made; someone will look at it.")


class Weight(IntEnum):
    """The heavier of two wins."""

    FLAG = 0  # accepted, on the boards, and in the queue; the player hears nothing
    QUARANTINE = 1  # on no board until somebody looks
    REJECT = 2  # counts nowhere

    @property
    def state(self) -> State:
        return _STATES[self]


_STATES = {
    Weight.FLAG: State.ACCEPTED,
    Weight.QUARANTINE: State.QUARANTINED,
    Weight.REJECT: State.REJECTED,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says of one attempt."""

    check: str
    weight: Weight
    reason: str  # for people who decide: numbers are welcome
    told: str = ""  # what the player may know, unless it is a flag
    risk: float = 0.5  # 0 to 1, that it is cheating; 0: no suspicion, and no case
    details: Mapping[str, Any] = field(default_factory=dict)  # numbers behind the reason, plain JSON

    @property
    def state(self) -> State:
        return self.weight.state

    @property
    def heard(self) -> str:
        """What the player is told: of a flag nothing, in any way."""
        return "" if self.weight is Weight.FLAG else self.told


def not_made(check: object) -> Verdict:
    """Of a check that raised. No risk, so no case: nothing is known against the players, and they may be thousands."""
    name = type(check).__name__
    reason = f"{name} raised an error, which the log has."
    return Verdict(name, Weight.QUARANTINE, reason, UNCHECKED, risk=0)


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict, and the attempt it is about, which is in the log."""

    mode: Mode
    player: int
    attempt: int  # id in the log
    attempt_id: UUID
    received_at: datetime
    score: int  # scaled
    verdict: Verdict


def record(found: Sequence[Found]) -> None:
    """In the transaction that logs or stamps them. A recorder that is broken takes no scores down with it."""
    for one in found:
        VERDICTS.labels(one.verdict.check, one.verdict.weight.name.lower()).inc()
    suspicious = [one for one in found if one.verdict.risk > 0]
    if not suspicious:
        return
    try:
        with transaction.atomic():
            _recorder(settings.FINDINGS_RECORDER)(suspicious)
    except OperationalError:  # deadlocks and conflicts: all of it is done again
        raise
    except Exception:
        CHECKS_FAILED.labels("recorder").inc()
        log.exception("findings_not_recorded", findings=len(suspicious), consequence="no case is opened for them")


@lru_cache(maxsize=8)
def _recorder(path: str) -> Callable[[Sequence[Found]], None]:
    recorder: Callable[[Sequence[Found]], None] = import_string(path)
    return recorder
