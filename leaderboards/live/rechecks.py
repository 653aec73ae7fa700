"""Whether those who watch still may: looked at when something has changed, when a token expires, and now and then."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from time import monotonic
from typing import Protocol

import structlog
from django.utils import timezone

from config import recall
from config.errors import DomainError, Unauthenticated, Unavailable
from leaderboards.live.looks import Watch, watch_of
from leaderboards.live.subscriptions import Subscription
from leaderboards.live.threads import Threads

log = structlog.get_logger(__name__)
_LOOK = 0.5  # seconds
_REST = 2.0  # after all have been looked at
_ANYWAY = 30.0
_SESSIONS = 5.0  # they end without anybody being told
_AT_ONCE = 200
_Found = Watch | DomainError | None  # None: it cannot be said now


class Watching(Protocol):
    def subscriptions(self) -> list[Subscription]: ...

    def dismiss(self, subscription: Subscription, why: DomainError) -> None: ...


class Rechecks:
    def __init__(self, watching: Watching, threads: Threads) -> None:
        self._watching, self._threads = watching, threads
        self._epoch: int | None = None
        self._looked = self._looked_at_sessions = monotonic()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            try:
                await self._recheck(self._due())
            except Exception:  # one that fails, for whatever reason, is not the last
                log.exception("watchers_not_rechecked")

    def _due(self) -> list[Subscription]:
        epoch, rested = recall.changes.epoch, monotonic() - self._looked
        changed = epoch != self._epoch or epoch is None  # what changes while nothing is heard is unknown
        if (changed and rested > _REST) or rested > _ANYWAY:
            self._epoch, self._looked = epoch, monotonic()
            return self._watching.subscriptions()
        now, sessions = timezone.now(), monotonic() - self._looked_at_sessions > _SESSIONS
        if sessions:
            self._looked_at_sessions = monotonic()
        return [
            one
            for one in self._watching.subscriptions()
            if (one.watch.until and one.watch.until <= now) or (sessions and one.watch.by_session)
        ]

    async def _recheck(self, due: Sequence[Subscription]) -> None:
        alike: dict[object, list[Subscription]] = {}
        for one in due:
            alike.setdefault(_question(one), []).append(one)
        asked = list(alike.values())
        for first in range(0, len(asked), _AT_ONCE):
            some = asked[first : first + _AT_ONCE]
            found = await self._threads.run(partial(_answers, [group[0] for group in some]))
            for group, answer in zip(some, found, strict=True):
                self._tell(group, answer)

    def _tell(self, group: Iterable[Subscription], answer: _Found) -> None:
        for one in group:
            if isinstance(answer, DomainError):
                self._watching.dismiss(one, answer)
            elif answer is not None and (answer.board, answer.player_id) != (one.watch.board, one.watch.player_id):
                self._watching.dismiss(one, Unauthenticated("You are known as somebody else by now; subscribe again."))
            elif answer is not None:
                one.watch = answer


def _question(one: Subscription) -> object:
    """Those that differ in what is shown only are one."""
    told = one.message
    return one.papers, told.op, told.token, told.game, told.mode, told.window, told.scope, told.player_id


def _answers(some: Sequence[Subscription]) -> list[_Found]:
    return [_answer(one) for one in some]


def _answer(one: Subscription) -> _Found:
    if one.watch.by_session and recall.changes.epoch is None:
        return None  # sessions are kept where nothing can be heard from: they are not gone, they cannot be read
    try:
        return watch_of(one.papers, one.message)
    except Unavailable:
        return None
    except DomainError as error:
        return error
    except Exception:
        log.exception("watcher_not_rechecked")
        return None
