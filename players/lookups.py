"""The look-ups that every request makes, as frozen values remembered for seconds (config/recall.py)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from config.recall import Recall
from players import keys
from players.models import ApiKey, ErasedId, Game, Player
from players.names import SLUG
from players.profile import id_digest
from players.rates import Limits, limits_of
from players.scopes import Scope

_USED_EVERY = timedelta(minutes=1)  # how exact "last used" is


@dataclass(frozen=True, slots=True)
class GameRecord:
    pk: int
    slug: str
    title: str
    public: bool
    signing_secret: str = ""
    limits: Limits | None = None

    def __repr__(self) -> str:
        return f"GameRecord({self.slug!r})"  # never with the secret


@dataclass(frozen=True, slots=True)
class KeyRecord:
    pk: int
    game: str
    scopes: frozenset[Scope]
    expires_at: datetime | None


def _load_game(slug: str) -> GameRecord | None:
    row = Game.objects.filter(slug=slug).first()
    if row is None:
        return None
    return GameRecord(row.pk, row.slug, row.title, row.public, row.signing_secret, limits_of(row.limits))


def _load_key(text: str) -> KeyRecord | None:
    parts = keys.split(text)
    if parts is None:
        return None
    prefix, secret = parts
    row = ApiKey.objects.filter(prefix=prefix).select_related("game").first()
    now = timezone.now()
    if row is None or not keys.proves(secret, bytes(row.secret_hash)) or not row.valid_at(now):
        return None
    if row.last_used_at is None or row.last_used_at < now - _USED_EVERY:
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=now)
    return KeyRecord(row.pk, row.game.slug, frozenset(Scope(scope) for scope in row.scopes), row.expires_at)


def _load_tokens_valid_from(player: tuple[int, str]) -> tuple[datetime | None] | None:
    """In a tuple, because "this player's tokens are all good" is worth remembering and None is not."""
    game, player_id = player
    row = Player.objects.filter(game_id=game, player_id=player_id).values_list("tokens_valid_from", flat=True).first()
    erased = ErasedId.objects.filter(game_id=game, digest=id_digest(game, player_id))
    moments = [moment for moment in (row, erased.values_list("erased_at", flat=True).first()) if moment]
    return (max(moments, default=None),)


_games: Recall[str, GameRecord] = Recall(_load_game)
_keys: Recall[str, KeyRecord] = Recall(_load_key)
_tokens: Recall[tuple[int, str], tuple[datetime | None]] = Recall(_load_tokens_valid_from, size=100_000)


def game(slug: str) -> GameRecord | None:
    return _games.get(slug) if SLUG.fullmatch(slug) else None


def game_at_hand(slug: str) -> GameRecord | None:
    """Without asking anybody: only if it is remembered."""
    return _games.at_hand(slug)


def key(text: str) -> KeyRecord | None:
    """The key's record if the text is a key that is good now."""
    found = _keys.get(text)
    return None if found is None or (found.expires_at and found.expires_at <= timezone.now()) else found


def tokens_valid_from(game: int, player_id: str) -> datetime | None:
    found = _tokens.get((game, player_id))
    return found[0] if found else None
