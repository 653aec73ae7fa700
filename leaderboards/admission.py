"""Runs settings.SCORE_CHECKS over a batch; the strictest verdict wins. What the checks know is theirs (anticheat/)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Protocol

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from config.errors import DomainError
from config.metrics import CHECKS_FAILED
from leaderboards.candidates import Candidate
from leaderboards.log import State
from players.lookups import GameRecord

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Logged, with this state and for this reason, which the player may know."""

    state: State
    reason: str


@dataclass(frozen=True, slots=True)
class Door:
    """Where and when a batch came in; with whose credentials, each of it says."""

    game: GameRecord
    now: datetime


Finding = Verdict | DomainError  # an error is answered, and nothing is logged
_FAILED = Verdict(State.QUARANTINED, "A check could not be made; someone will look at it.")


class Check(Protocol):
    """Judges without history: what needs it comes when a batch is stamped."""

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        """By index in the batch; of the others there is nothing to say."""
        ...


@lru_cache(maxsize=8)
def _checks(paths: tuple[str, ...]) -> list[Check]:
    return [import_string(path)() for path in paths]


def judge(batch: Sequence[Candidate], door: Door) -> dict[int, DomainError]:
    """Those that are refused. The others have their state and reasons set."""
    refused: dict[int, DomainError] = {}
    for check in _checks(tuple(settings.SCORE_CHECKS)):
        for index, finding in _findings(check, batch, door).items():
            if isinstance(finding, DomainError):
                refused.setdefault(index, finding)
                continue
            one = batch[index]
            one.state = max(one.state, finding.state)
            one.reasons.append(finding.reason)
    return refused


def _findings(check: Check, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
    try:
        return check.judge(batch, door)
    except Exception:  # a check that is broken takes no scores down with it, and lets none through either
        CHECKS_FAILED.labels(type(check).__name__).inc()
        log.exception("check_failed", check=type(check).__name__, consequence="its batch is quarantined")
        return dict.fromkeys(range(len(batch)), _FAILED)
