"""How often callers may read: asked for all calls of a batch together, or not at all where nothing is limited."""

from collections.abc import Sequence

from config.buckets import buckets
from config.errors import RateLimited, Unauthenticated
from leaderboards.fastlane.calls import Call
from players import limits, lookups
from players.access import NOBODY, Caller


def at_hand(call: Call) -> bool:
    """Counts a call without a credential if that needs no server; False: it has to be counted with others."""
    record = lookups.game_at_hand(call.game)
    if record is None:
        return False
    if record.limits is None:
        return True
    ask = limits.read_ask(NOBODY, call.game, call.address, record)
    if not ask:
        return True
    taken = buckets.at_hand(ask)
    call.quota = None if taken is None else limits.Quota(ask, taken)
    return taken is not None


def count(calls: Sequence[Call]) -> None:
    """Each call once: those that are made again, alone, were counted before."""
    limited = {game for game in {call.game for call in calls} if limits.is_limited(game)}
    if not limited:
        return
    known: dict[bytes, Caller] = {}
    counted = [call for call in calls if call.game in limited and call.quota is None and _is_proven(call, known)]
    quotas = limits.read_quotas([(call.caller, call.game, call.address) for call in counted])
    for call, quota in zip(counted, quotas, strict=True):
        call.quota = quota


def refusal(call: Call) -> RateLimited | None:
    return None if call.quota is None else call.quota.refusal


def _is_proven(call: Call, known: dict[bytes, Caller]) -> bool:
    """A credential that is no good is refused for that. The same one is proven once."""
    credential = call.headers.get(b"authorization", b"")
    call.known = call.known or known.get(credential)
    try:
        known[credential] = call.caller
    except Unauthenticated:
        return False
    return True
