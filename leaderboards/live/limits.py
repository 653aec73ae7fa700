"""How much one client may ask for: messages a second, subscriptions, sockets."""

from collections import Counter
from time import monotonic

from django.conf import settings

from config.errors import RateLimited
from leaderboards.live.errors import TooManySubscriptions
from leaderboards.live.looks import Watch
from leaderboards.live.sockets import Socket
from leaderboards.live.subscriptions import Subscription

MESSAGES_A_SECOND = 20
MESSAGES_AT_ONCE = 60
MOST_SUBSCRIPTIONS = 10
_CONNECTS_A_SECOND, _CONNECTS_AT_ONCE = 5, 100  # of one address, at least
_MOST_REMEMBERED = 20_000  # addresses
_Player = tuple[str, str]  # game, player_id


class Pace:
    """A bucket of messages that fills by itself."""

    __slots__ = ("_at", "_left")

    def __init__(self) -> None:
        self._left, self._at = float(MESSAGES_AT_ONCE), monotonic()

    def allows(self) -> bool:
        now = monotonic()
        self._left = min(MESSAGES_AT_ONCE, self._left + (now - self._at) * MESSAGES_A_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Connects:
    """How often each address opens a socket with this process: its socket's place is free again once it is closed."""

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}  # when each address' bucket is full again

    def wait(self, address: str) -> float:
        """Seconds until it may; 0: it may now."""
        rate = max(_CONNECTS_A_SECOND, settings.SOCKETS_AN_ADDRESS / 10)
        at_once = max(_CONNECTS_AT_ONCE, 2 * settings.SOCKETS_AN_ADDRESS)
        now = monotonic()
        full_at = max(self._full_at.pop(address, now), now) + 1 / rate
        wait = full_at - now - at_once / rate
        if wait > 0:
            full_at -= 1 / rate  # a refusal takes nothing
        self._full_at[address] = full_at
        if len(self._full_at) > _MOST_REMEMBERED:
            del self._full_at[next(iter(self._full_at))]  # who came longest ago
        return max(wait, 0.0)


class Crowd:
    """Who has how many sockets with this process."""

    def __init__(self) -> None:
        self._addresses: Counter[str] = Counter()
        self._players: dict[_Player, Counter[Socket]] = {}

    def enter(self, socket: Socket) -> None:
        self._addresses[socket.address] += 1

    def leave(self, socket: Socket) -> None:
        self._addresses[socket.address] -= 1
        if not self._addresses[socket.address]:
            del self._addresses[socket.address]

    def watch(self, subscription: Subscription) -> None:
        if (player := _player(subscription.watch)) is not None:
            self._players.setdefault(player, Counter())[subscription.socket] += 1

    def unwatch(self, subscription: Subscription) -> None:
        if (player := _player(subscription.watch)) is None:
            return
        sockets = self._players[player]
        sockets[subscription.socket] -= 1
        if not sockets[subscription.socket]:
            del sockets[subscription.socket]
        if not sockets:
            del self._players[player]

    def check_address(self, socket: Socket) -> None:
        """Once it is in."""
        if self._addresses[socket.address] > settings.SOCKETS_AN_ADDRESS:
            raise RateLimited("There are too many sockets from this address.")

    def check_player(self, watch: Watch, socket: Socket) -> None:
        player = _player(watch)
        if player is not None and len({*self._players.get(player, ()), socket}) > settings.SOCKETS_A_PLAYER:
            raise RateLimited("There are too many sockets of this player.")


def check_subscriptions(socket: Socket, id_: str) -> None:
    """One with the id of another takes its place."""
    if id_ not in socket.subscriptions and len(socket.subscriptions) >= MOST_SUBSCRIPTIONS:
        raise TooManySubscriptions(f"A socket has at most {MOST_SUBSCRIPTIONS} subscriptions.")


def _player(watch: Watch) -> _Player | None:
    return None if watch.player_id is None else (watch.game, watch.player_id)
