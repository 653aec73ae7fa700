"""What one socket is told of one board: the newest state, and what it was told before."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

import msgspec
from django.utils import timezone

from config import wire
from leaderboards.live.announcements import Announcement, Rank, Top
from leaderboards.live.looks import Papers, Watch
from leaderboards.live.messages import Message

if TYPE_CHECKING:
    from leaderboards.live.sockets import Socket


class Heard(Protocol):
    """An announcement, with what is put together of it once for all sockets."""

    @property
    def announcement(self) -> Announcement: ...

    def tail(self, top: Top, limit: int) -> str: ...


class Subscription(ABC):
    __slots__ = ("_order", "looked", "message", "papers", "seq", "socket", "watch")

    def __init__(self, socket: "Socket", papers: Papers, message: Message, watch: Watch) -> None:
        self.socket, self.papers, self.message, self.watch = socket, papers, message, watch
        self.seq = 0  # of what was really sent
        self.looked = False  # the first state is read, not announced
        self._order = (0, -1)

    @property
    def id(self) -> str:
        return self.message.id

    def begin(self) -> None:
        """Once what is there has been read. Until then the newest of what is announced is kept, and nothing sent."""
        if self.socket.subscriptions.get(self.id) is self:  # else it was ended meanwhile, and is told nothing more
            self.looked = True
            self.socket.wake(self)

    @abstractmethod
    def hear(self, heard: Heard) -> bool:
        """False: it lacks what is watched here."""

    @abstractmethod
    def frame(self) -> str | None:
        """To be sent now; None: nothing is new."""

    def _head(self, kind: str) -> str:
        self.seq += 1
        return f'{{"type":"{kind}","id":{wire.encode(self.id).decode()},"seq":{self.seq},'


class BoardSubscription(Subscription):
    __slots__ = ("_shown", "_waiting")

    def __init__(self, socket: "Socket", papers: Papers, message: Message, watch: Watch) -> None:
        super().__init__(socket, papers, message, watch)
        self._waiting: str | None = None
        self._shown = 0

    def show(self, order: tuple[int, int], tail: str) -> None:
        """What is older than what was seen is not shown, nor what is the same."""
        if order < self._order:
            return
        self._order, self._waiting = order, tail
        self.socket.wake(self)

    def hear(self, heard: Heard) -> bool:
        top = self._own(heard.announcement)
        if top is None or (top.limit < self.message.limit and len(top.entries) < top.total):
            return False
        self.show(top.order, heard.tail(top, self.message.limit))
        return True

    def _own(self, told: Announcement) -> Top | None:
        """Who is known as a player is shown a top only when it is certain that this is the one to be shown."""
        player = self.watch.player_id
        if player is None or player in told.players:
            return told.top
        return told.ghosts.get(player)

    def frame(self) -> str | None:
        if self._waiting is None or not self.looked:
            return None
        tail, self._waiting = self._waiting, None
        if self.seq and hash(tail) == self._shown:
            return None
        self._shown = hash(tail)
        return self._head("update" if self.seq else "snapshot") + tail


class _RankTold(msgspec.Struct):
    """The rest of a `rank` message."""

    version: int
    player_id: str
    old_rank: int | None
    new_rank: int | None
    score: msgspec.Raw
    at: wire.Instant


class RankSubscription(Subscription):
    __slots__ = ("_told", "_waiting")

    def __init__(self, socket: "Socket", papers: Papers, message: Message, watch: Watch) -> None:
        super().__init__(socket, papers, message, watch)
        self._waiting: Rank | None = None
        self._told: Rank | None = None

    def show(self, rank: Rank) -> None:
        if rank.order < self._order:
            return
        self._order, self._waiting = rank.order, rank
        self.socket.wake(self)

    def hear(self, heard: Heard) -> bool:
        told, followed = heard.announcement, self.watch.followed or ""
        rank = (told.themselves if self.watch.itself else told.followed).get(followed)
        if rank is not None:
            self.show(rank)
        return rank is not None

    def frame(self) -> str | None:
        now, before = self._waiting, self._told
        if now is None or not self.looked:
            return None
        self._waiting, self._told = None, now
        if before is not None and (before.rank, before.score) == (now.rank, now.score):
            return None
        told = _RankTold(
            now.version,
            self.watch.followed or "",
            before.rank if before else None,
            now.rank,
            msgspec.Raw(now.score),
            timezone.now(),
        )
        return self._head("rank") + wire.encode(told).decode()[1:]
