"""Who meets which buckets: a player its own and its address's, a key none, anyone else the address's."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import ceil
from typing import NamedTuple

from config.address import network_of
from config.buckets import Ask, Bucket, Rate, Taken, buckets
from config.errors import RateLimited
from players import lookups
from players.access import Caller, Kind
from players.lookups import GameRecord
from players.rates import Limits, limits_of

_OWN_PROFILE = Rate(1, 10)  # a player's changes, erasures and exports of itself
_NO_GAME = "-"


class Quota(NamedTuple):
    """What a call was given by the buckets that it met."""

    ask: Ask
    taken: Taken

    @property
    def refusal(self) -> RateLimited | None:
        if not self.taken.wait:
            return None
        return RateLimited("That was too often; wait a little.", retry_after=ceil(self.taken.wait))

    def headers(self, *, public: bool) -> list[tuple[str, str]]:
        """What is left is for one caller, so it is not in answers that any cache may keep."""
        policy = ("RateLimit-Policy", ", ".join(_policy(bucket.name, bucket.rate) for bucket in self.ask))
        if public:
            return [policy]
        left = zip(self.ask, self.taken.left, strict=True)
        return [policy, ("RateLimit", ", ".join(_state(bucket, entries) for bucket, entries in left))]


def read_ask(caller: Caller, game: str, address: str, record: GameRecord | None) -> Ask:
    """The buckets of a read. `record`: the game, if there is one; else its name is not worth a bucket of its own."""
    limits = limits_of({}) if record is None else record.limits
    if limits is None or caller.kind is Kind.KEY:
        return ()
    place = _NO_GAME if record is None else str(record.pk)
    return tuple(_read_buckets(caller, place, network_of(address), limits, own=caller.game == game))


def read_quotas(reads: Sequence[tuple[Caller, str, str]]) -> list[Quota | None]:
    """Of calls (caller, game, address) that are made together; None for what is not limited."""
    records = {game: lookups.game(game) for game in {game for _, game, _ in reads}}
    asks = [read_ask(caller, game, address, records[game]) for caller, game, address in reads]
    taken = iter(buckets.take([ask for ask in asks if ask]))
    return [Quota(ask, next(taken)) if ask else None for ask in asks]


def is_limited(game: str) -> bool:
    """Whether reads of the game may be limited at all."""
    record = lookups.game(game)
    return (limits_of({}) if record is None else record.limits) is not None


def own_profile_quota(caller: Caller, record: GameRecord) -> Quota | None:
    if caller.kind is not Kind.PLAYER or caller.player_id is None:
        return None
    key = f"rung:limit:{record.pk}:profile:{_hashed(caller.player_id)}"
    ask = (Bucket("player-profile", key, _OWN_PROFILE),)
    return Quota(ask, buckets.take([ask])[0])


def _read_buckets(caller: Caller, place: str, network: str, limits: Limits, *, own: bool) -> list[Bucket]:
    met = list[Bucket]()
    if limits.player_read and own and caller.player_id is not None:
        key = f"rung:limit:{place}:read:player:{_hashed(caller.player_id)}"
        met.append(Bucket("player-read", key, limits.player_read))
    if limits.address_read and network:
        met.append(Bucket("address-read", f"rung:limit:{place}:read:address:{network}", limits.address_read))
    return met


@lru_cache(maxsize=1024)
def _policy(name: str, rate: Rate) -> str:
    return f'"{name}";q={rate.burst};w={max(1, ceil(rate.burst / rate.per_second))}'


def _state(bucket: Bucket, left: int) -> str:
    until_full = ceil((bucket.rate.burst - left) / bucket.rate.per_second)
    return f'"{bucket.name}";r={left};t={until_full}'


@lru_cache(maxsize=4096)
def _hashed(player_id: str) -> str:
    """Names have no business among keys."""
    return blake2b(player_id.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
