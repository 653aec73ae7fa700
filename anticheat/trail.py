"""What is remembered of a player while the log is walked in order: little, however long it has played. Pure."""

from collections import deque
from datetime import datetime
from math import log, sqrt
from typing import NamedTuple
from uuid import UUID

HOUR = 3600.0
MOST_DEVICES = 8
MOST_KEPT = 3  # attempts: here, there, and here again
GAPS = 24  # between attempts, the last ones
SWAP_SECONDS = 1800
LATELY = 6  # attempts that are held against those before them


class Seen(NamedTuple):
    """One attempt, as the log has it."""

    id: int
    player: int
    attempt_id: UUID
    score: int  # scaled
    received_at: datetime
    achieved_at: float  # seconds since 1970
    counts: bool
    device: str
    session: str
    address: str
    points: float  # what it was played for; 0 where less is better
    level: float | None  # of the score, on a scale on which twice as good is as far everywhere; None: it has none


class Running:
    """Count, mean and deviation of what has gone by."""

    __slots__ = ("count", "mean", "squares")

    def __init__(self, count: int = 0, mean: float = 0.0, squares: float = 0.0) -> None:
        self.count, self.mean, self.squares = count, mean, squares

    def add(self, value: float) -> None:
        self.count += 1
        off = value - self.mean
        self.mean += off / self.count
        self.squares += off * (value - self.mean)

    @property
    def deviation(self) -> float:
        return sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0

    def copy(self) -> "Running":
        return Running(self.count, self.mean, self.squares)


class Change(NamedTuple):
    """By how much something moved, and how many times what chance would do to it."""

    by: float
    sure: float


def change(before: Running, after: Running, *, floor: float) -> Change:
    """`floor`: the least that anything varies, whatever few samples say."""
    by = after.mean - before.mean
    chance = max(floor, before.deviation) * sqrt(1 / before.count + 1 / after.count)
    return Change(by, by / chance)


class Device:
    """What a player did on one device, and what it had done before that was first seen."""

    __slots__ = ("before", "here")

    def __init__(self, before: Running) -> None:
        self.before, self.here = before, Running()


class Trail:
    """One player's, in one mode, the latest attempt included. `lately`: points a second that are not in `rates` yet."""

    __slots__ = (
        "arrived", "devices", "elsewhere", "gap", "gaps", "hours", "is_swap", "last", "lately", "levels", "overlaps",
        "rate", "rates", "swaps", "told",
    )  # fmt: skip

    def __init__(self) -> None:
        self.last: deque[Seen] = deque(maxlen=MOST_KEPT)
        self.arrived: float | None = None  # seconds after the one before, by our own clock
        self.gap: float | None = None  # seconds before the latest attempt
        self.rate: float | None = None  # its points a second
        self.elsewhere: float | None = None  # the same, where the one before was made on another device
        self.levels = Running()
        self.rates = Running()
        self.lately: deque[float] = deque(maxlen=LATELY)
        self.gaps: deque[float] = deque(maxlen=GAPS)
        self.hours: deque[list[int]] = deque(maxlen=24)  # [hour since 1970, attempts in it], without empty ones
        self.devices: dict[str, Device] = {}
        self.swaps = 0  # from one device to another and back, sooner than anybody walks
        self.is_swap = False  # the latest made one more
        self.overlaps = 0  # attempts that had begun before the last one, on another device, was over
        self.told: dict[str, int] = {}  # check: day on which it last said something

    @property
    def latest(self) -> Seen:
        return self.last[-1]

    def add(self, one: Seen) -> None:
        self._measure(one)
        if self.gap is not None:
            self.gaps.append(self.gap)
        if self.rate is not None:
            if len(self.lately) == LATELY:
                self.rates.add(self.lately[0])
            self.lately.append(log(self.rate))
        self._add_hour(int(one.achieved_at // HOUR))
        if one.level is not None:
            self._add_level(one.device, one.level)
        self.last.append(one)
        self.is_swap = self._swapped()
        self.swaps += self.is_swap

    def _swapped(self) -> bool:
        if len(self.last) < MOST_KEPT:
            return False
        first, other, latest = self.last
        if not (first.device and other.device) or first.device != latest.device or other.device == latest.device:
            return False
        return 0 <= latest.achieved_at - first.achieved_at <= SWAP_SECONDS

    def _measure(self, one: Seen) -> None:
        """Where the order of arrival is not that of play, nothing is known: what was played offline comes at once.

        Within a session, a run has had at least as many points a second as there are since the one before it.
        """
        self.gap = self.rate = self.elsewhere = None
        self.arrived = (one.received_at - self.latest.received_at).total_seconds() if self.last else None
        if not self.last or one.achieved_at <= self.latest.achieved_at:
            return
        self.gap = one.achieved_at - self.latest.achieved_at
        if self.latest.device != one.device:
            self.elsewhere = one.points / self.gap
        elif one.points > 0 and self.latest.session == one.session:
            self.rate = one.points / self.gap

    def _add_hour(self, hour: int) -> None:
        if self.hours and self.hours[-1][0] == hour:
            self.hours[-1][1] += 1
        elif not self.hours or self.hours[-1][0] < hour:
            self.hours.append([hour, 1])

    def _add_level(self, device: str, level: float) -> None:
        if device:
            if device not in self.devices:
                if len(self.devices) == MOST_DEVICES:
                    del self.devices[next(iter(self.devices))]
                self.devices[device] = Device(self.levels.copy())
            self.devices[device].here.add(level)
        self.levels.add(level)
