"""Signed addresses: whoever has one may send one replay to it, for a while, without a key or a token."""

from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.urls import reverse

from config.errors import Unauthenticated

_signer = signing.TimestampSigner(salt="anticheat.replay")


def address(game: str, player_id: str, attempt_id: str) -> str:
    path = reverse("replay", kwargs={"game": game, "player_id": player_id, "attempt_id": attempt_id})
    signature = _signer.sign(path)[len(path) + 1 :]
    return f"{path}?{urlencode({'signature': signature})}"


def expires_at(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.REPLAY_ADDRESS_SECONDS)


def check(signature: str, *, game: str, player_id: str, attempt_id: str) -> None:
    """Made for this attempt, and not too long ago."""
    path = reverse("replay", kwargs={"game": game, "player_id": player_id, "attempt_id": attempt_id})
    try:
        _signer.unsign(f"{path}:{signature}", max_age=settings.REPLAY_ADDRESS_SECONDS)
    except signing.BadSignature:
        raise Unauthenticated("The address is not good, or not good any more: ask for another.") from None
