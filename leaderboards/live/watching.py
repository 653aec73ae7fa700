"""What web processes and workers tell each other in the cache server: which boards are watched, as what, and which of
them have something new. All of it may be lost: web processes say it again within seconds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog
from django.conf import settings

from config import valkey
from config.celery import app as celery
from leaderboards import keys

log = structlog.get_logger(__name__)
SAID_EVERY = 5.0  # seconds
_HOLDS = timedelta(seconds=15)  # what is not said again is forgotten
_KEPT = 3600  # seconds, what was announced last
_GATE = 250  # milliseconds from one announcement of a board to the next
_UNSEEN = "|unseen"
_BELL = 5  # seconds, at most, that a bell is taken for answered soon


class Watched(NamedTuple):
    """A board as it was asked for: "daily" is another one tomorrow."""

    mode: int
    window: str
    scope: str

    @property
    def name(self) -> str:
        return f"{self.mode}|{self.window}|{self.scope}"


def named(name: str) -> Watched:
    mode, window, scope = name.split("|")
    return Watched(int(mode), window, scope)


def unseen(name: str) -> str:
    """A board as it is marked when only what ghosts are shown of it is new: others are not told that anything is."""
    return name + _UNSEEN


def marked_as(mark: str) -> tuple[str, bool]:
    """The board, and whether it is marked for ghosts only."""
    return mark.removesuffix(_UNSEEN), mark.endswith(_UNSEEN)


class Watchers(NamedTuple):
    """As what a board is watched."""

    limit: int  # the longest top; 0: nobody wants one
    players: list[str]  # who watch it and are known: one of them may see another top than everybody
    themselves: list[str]  # who follow themselves
    followed: list[str]  # by keys, which see what everybody sees


def top(limit: int) -> str:
    return f"t{limit}"


def player(player_id: str) -> str:
    return f"p{player_id}"


def itself(player_id: str) -> str:
    return f"f{player_id}"


def followed(player_id: str) -> str:
    return f"k{player_id}"


def note(boards: Mapping[str, Collection[str]], *, at: datetime) -> None:
    """That these boards are watched, each as all of that."""
    if not boards:
        return
    now, pipe = at.timestamp(), _pipeline()
    pipe.zadd(keys.live_boards(), dict.fromkeys(boards, now))
    for board, said in boards.items():
        pipe.zadd(keys.live_watchers(board), dict.fromkeys(said, now))
        pipe.expire(keys.live_watchers(board), int(2 * _HOLDS.total_seconds()))
    with valkey.answering("cache"):
        pipe.execute()


def boards(*, at: datetime) -> list[str]:
    return valkey.cache_noted(keys.live_boards(), since=(at - _HOLDS).timestamp())


def watchers(board: str, *, at: datetime) -> Watchers:
    said = valkey.cache_noted(keys.live_watchers(board), since=(at - _HOLDS).timestamp())
    of: dict[str, list[str]] = {"t": [], "p": [], "f": [], "k": []}
    for one in sorted(said):
        of[one[0]].append(one[1:])
    return Watchers(max(map(int, of["t"]), default=0), of["p"], of["f"], of["k"])


def opened(some: Sequence[str]) -> list[str]:
    """Those marks that have not been set for a quarter of a second, and now are not to be for another."""
    pipe = _pipeline()
    for board in some:
        pipe.set(keys.live_gate(board), "1", px=_GATE, nx=True)
    with valkey.answering("cache"):
        return [board for board, done in zip(some, pipe.execute(), strict=True) if done]


def mark(some: Iterable[str]) -> None:
    """That they have something new, and rings for who announces it."""
    marked = list(some)
    if not marked:
        return
    with valkey.answering("cache"):
        _server().sadd(keys.live_dirty(), *marked)
    ring()


def ring() -> None:
    try:
        if valkey.cache_add(keys.live_bell(), seconds=_BELL):
            celery.send_task("leaderboards.tasks.announce", expires=2 * _BELL)
    except Exception:  # noqa: BLE001 - the broker's client raises what it likes; beat looks within seconds
        log.warning("announcement_not_rung_for")


def answer() -> None:
    """Before looking: a ring that comes later is a new one."""
    valkey.cache_take(keys.live_bell())


def take(most: int) -> list[str]:
    """Some of those with something new; each is had once, by one."""
    with valkey.answering("cache"):
        return [one.decode() for one in _server().spop(keys.live_dirty(), most)]


def numbered(some: Sequence[str]) -> list[int]:
    """The number of each one's next announcement."""
    pipe = _pipeline()
    for board in some:
        pipe.incr(keys.live_number(board))
        pipe.expire(keys.live_number(board), _KEPT)
    with valkey.answering("cache"):
        return [int(found) for found in pipe.execute()[::2]]


def numbers(some: Sequence[str]) -> list[int]:
    """Of the last announcement of each; 0: there was none."""
    return [int(found or 0) for found in _values([keys.live_number(board) for board in some])]


def told(digests: Mapping[str, bytes]) -> None:
    """What has been announced."""
    pipe = _pipeline()
    for board, digest in digests.items():
        pipe.set(keys.live_told(board), digest, ex=_KEPT)
    with valkey.answering("cache"):
        pipe.execute()


def last_told(some: Sequence[str]) -> list[bytes | None]:
    return _values([keys.live_told(board) for board in some])


def _values(names: Sequence[str]) -> list[Any]:
    with valkey.answering("cache"):
        return list(_server().mget(names)) if names else []


def _server() -> Any:
    return valkey.client(settings.CACHE_URL)


def _pipeline() -> Any:
    return _server().pipeline(transaction=False)
