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
from leaderboards.verdicts import Verdict, not_made
from players.access import NOBODY, Caller
from players.lookups import GameRecord

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Door:
    """Where and when a batch came in; with whose credentials, each of it says. `caller`: who sent it as one batch."""

    game: GameRecord
    now: datetime
    caller: Caller = NOBODY


Finding = Verdict | DomainError  # an error is answered, and nothing is logged


class Check(Protocol):
    """Judges without history: what needs it comes when a batch is stamped."""

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
        """By index in the batch; of the others there is nothing to say."""
        ...


@lru_cache(maxsize=8)
def _checks(paths: tuple[str, ...]) -> list[Check]:
    return [import_string(path)() for path in paths]


def judge(batch: Sequence[Candidate], door: Door) -> dict[int, DomainError]:
    """Those that are refused. The others have their state, reasons and verdicts set."""
    refused: dict[int, DomainError] = {}
    for check in _checks(tuple(settings.SCORE_CHECKS)):
        for index, finding in _findings(check, batch, door).items():
            if isinstance(finding, DomainError):
                refused.setdefault(index, finding)
                continue
            _judged(batch[index], finding)
    return refused


def _judged(one: Candidate, verdict: Verdict) -> None:
    one.verdicts.append(verdict)
    one.state = max(one.state, verdict.state)
    if verdict.heard:
        one.reasons.append(verdict.heard)


def _findings(check: Check, batch: Sequence[Candidate], door: Door) -> Mapping[int, Finding]:
    try:
        return check.judge(batch, door)
    except Exception:  # a check that is broken takes no scores down with it, and lets none through either
        name = type(check).__name__
        CHECKS_FAILED.labels(name).inc()
        log.exception("check_failed", check=name, consequence="its batch is quarantined")
        return dict.fromkeys(range(len(batch)), not_made(check))
