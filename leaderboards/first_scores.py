"""The request that brought a mode its first score, for whoever sits and waits for it. Kept for a day, in the cache."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.core.cache import cache

from config.errors import DomainError
from leaderboards.models import Mode
from leaderboards.services.scores import Outcome

_SECONDS = 24 * 3600


def note(mode: Mode, request_id: str | None) -> None:
    """After each score; costs nothing once the mode has one. The first stays."""
    if mode.first_score_at is None:
        _keep(mode, request_id)


@contextmanager
def awaited(mode: Mode, request_id: str | None) -> Iterator[None]:
    """Around a score that is waited for, after which the mode may know of it."""
    first = mode.first_score_at is None
    yield
    if first:
        _keep(mode, request_id)


def note_batch(outcomes: Sequence[Outcome | DomainError], request_id: str | None) -> None:
    for mode in {one.mode.pk: one.mode for one in outcomes if isinstance(one, Outcome)}.values():
        note(mode, request_id)


def noted(mode: Mode) -> str | None:
    found: str | None = cache.get(_key(mode.pk))
    return found


def _keep(mode: Mode, request_id: str | None) -> None:
    if request_id:
        cache.add(_key(mode.pk), request_id, _SECONDS)


def _key(mode: int) -> str:
    return f"first-score:{mode}"
