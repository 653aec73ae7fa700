"""A web process's link to the workers: its one channel on the channel layer, in a group for each board that is watched
here, and its word in the registry. Whatever fails is tried again within seconds.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

import structlog
from channels.layers import get_channel_layer
from django.utils import timezone

from config import valkey
from config.metrics import ANNOUNCEMENTS_LOST
from leaderboards import keys
from leaderboards.live import announcements, watching
from leaderboards.live.announcements import Announcement
from leaderboards.live.threads import Threads

log = structlog.get_logger(__name__)
_AGAIN = 0.5  # seconds, after the channel layer has failed


class _Numbers:
    __slots__ = ("came", "due", "entered")

    def __init__(self) -> None:
        self.entered = False  # the group
        self.came = 0  # the last announcement that did
        self.due = 0  # the last that there was, when that was last asked


class Link:
    def __init__(
        self, threads: Threads, *, watched: Callable[[], Mapping[str, set[str]]], hear: Callable[[Announcement], None]
    ) -> None:
        """`watched`: the boards, and as what each is."""
        self._threads, self._watched, self._on_hearing = threads, watched, hear
        self._numbers: dict[str, _Numbers] = {}
        self._stale: set[str] = set()
        self._channel = ""
        self._away = False
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself holds none

    async def begin(self) -> None:
        self._channel = await get_channel_layer().new_channel("live")
        for act in (self._listen, self._say_again):
            self._spawn(act())

    async def join(self, board: str, said: Collection[str]) -> None:
        known = self._numbers.setdefault(board, _Numbers())
        try:
            await self._threads.run(partial(watching.note, {board: said}, at=timezone.now()))
            if not known.entered:  # another may be about to: nobody looks before one of them is done
                (number,) = await self._threads.run(partial(watching.numbers, [board]))
                known.came = max(known.came, number)
                await self._enter([board])
                known.entered = True
        except valkey.ValkeyUnavailable:
            self._return()

    def part(self, board: str) -> None:
        self._numbers.pop(board, None)
        self._spawn(self._exit(board))

    def ask(self, boards: Iterable[str]) -> None:
        """To have them announced: somebody here was told less than there is."""
        if not self._stale:
            asyncio.get_running_loop().call_later(_AGAIN, lambda: self._spawn(self._ask()))
        self._stale.update(boards)

    async def _ask(self) -> None:
        stale, self._stale = self._stale, set()
        try:
            await self._threads.run(partial(watching.mark, stale))
        except valkey.ValkeyUnavailable:
            self.ask(stale)

    async def _listen(self) -> None:
        while True:
            try:
                with valkey.answering("channels"):
                    message = await get_channel_layer().receive(self._channel)
                self._hear(message)
            except valkey.ValkeyUnavailable:
                self._return()
                await asyncio.sleep(_AGAIN)
            except Exception:
                log.exception("channel_layer_failed")
                await asyncio.sleep(_AGAIN)

    def _return(self) -> None:
        if not self._away:
            self._away = True
            log.warning("watching_interrupted", consequence="what was missed is shown once the servers are back")
            self._spawn(self._come_back())

    async def _come_back(self) -> None:
        """What they knew of us may be lost, and what was announced meanwhile is."""
        while self._away:
            await asyncio.sleep(_AGAIN)
            try:
                await self._say()
                self._away = False
            except valkey.ValkeyUnavailable:
                continue
        self.ask(self._numbers)

    async def _enter(self, boards: Iterable[str]) -> None:
        with valkey.answering("channels"):
            for board in boards:
                await get_channel_layer().group_add(keys.live_group(board), self._channel)

    async def _exit(self, board: str) -> None:
        try:
            with valkey.answering("channels"):
                if board not in self._numbers:
                    await get_channel_layer().group_discard(keys.live_group(board), self._channel)
            if board in self._numbers:  # again, meanwhile
                await self._enter([board])
        except valkey.ValkeyUnavailable:
            return  # what still comes is for nobody here

    def _hear(self, message: dict[str, Any]) -> None:
        told = announcements.decode(message["body"])
        known = self._numbers.get(told.board) if told else None
        if told is None or known is None:
            return
        if told.number > known.came + 1:
            ANNOUNCEMENTS_LOST.inc(told.number - known.came - 1)
        known.came = told.number
        self._on_hearing(told)

    async def _say_again(self) -> None:
        while True:
            await asyncio.sleep(watching.SAID_EVERY)
            try:
                await self._say()
            except valkey.ValkeyUnavailable:
                self._return()
            except Exception:
                log.exception("watching_not_said")

    async def _say(self) -> None:
        said = self._watched()
        await self._threads.run(partial(watching.note, said, at=timezone.now()))
        self._compare(said, await self._threads.run(partial(watching.numbers, list(said))))
        await self._enter(said)  # the layer's server may have been emptied

    def _compare(self, boards: Iterable[str], numbers: Iterable[int]) -> None:
        """What was announced when this was last looked at has had time to arrive."""
        for board, number in zip(boards, numbers, strict=True):
            known = self._numbers.get(board)
            if known is None:
                continue
            if known.came < known.due <= number:
                ANNOUNCEMENTS_LOST.inc(known.due - known.came)
                known.came = known.due
                self.ask([board])
            known.due = number

    def _spawn(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
