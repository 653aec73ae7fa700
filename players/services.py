"""What can be done to keys, players and their tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import IntegrityError, transaction
from django.utils.module_loading import import_string
from msgspec import UNSET

from config.errors import InvalidRequest, Unavailable
from config.recall import forget_after_commit
from players import countries, names
from players.keys import new_key
from players.lookups import GameRecord
from players.models import ApiKey, Game, Player
from players.scopes import Scope
from players.selectors import player_get
from players.signals import player_changed, player_erased
from players.wire import PlayerUpsert

_TRIES = 5
_address_is_valid = URLValidator(schemes=["https"])


def key_create(
    *, game: Game, scopes: Sequence[Scope], label: str = "", expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """The stored key, and its text, which cannot be had again."""
    made = new_key()
    key = ApiKey.objects.create(
        game=game,
        label=label,
        prefix=made.prefix,
        secret_hash=made.secret_hash,
        scopes=[scope.value for scope in scopes],
        expires_at=expires_at,
    )
    return key, made.text


def key_revoke(*, key: ApiKey, at: datetime) -> None:
    if key.revoked_at is None:
        key.revoked_at = at
        key.save(update_fields=["revoked_at"])


def player_upsert(*, game: GameRecord, player_id: str, wanted: PlayerUpsert, at: datetime) -> tuple[Player, bool]:
    """The player as wanted, and whether it is new."""
    fields = _checked(player_id, wanted, game)
    with transaction.atomic():
        first = {"display_name": default_name(player_id), **fields, "last_seen_at": at}
        player, made = _locked_or_new(game=game, player_id=player_id, first=first)
        if not made:
            before = {name: getattr(player, name) for name, value in fields.items() if getattr(player, name) != value}
            for name in before:
                setattr(player, name, fields[name])
            player.last_seen_at = at
            player.save(update_fields=[*before, "last_seen_at"])
            if before:
                player_changed.send(sender=Player, player=player, before=before)
    return player, made


def _locked_or_new(*, game: GameRecord, player_id: str, first: dict[str, Any]) -> tuple[Player, bool]:
    players = Player.objects.select_for_update()
    for _ in range(_TRIES):
        try:
            return players.get_or_create(game_id=game.pk, player_id=player_id, defaults=first)
        except IntegrityError:  # made by another meanwhile, and erased before it could be read
            continue
    raise Unavailable("The player is being made and erased again and again.", retry_after=1)


def player_erase(*, game: GameRecord, player_id: str, at: datetime) -> None:
    """Forgets who the player was. The row stays as a number, so that what others did against it stays true."""
    with transaction.atomic():
        player = player_get(game=game, player_id=player_id, lock=True)
        player.player_id = None
        player.display_name = player.country = player.region = player.avatar_url = ""
        player.last_seen_at = None
        player.erased_at = at
        player.save()
        player.bans.update(reason="")
        player_erased.send(sender=Player, player=player)
    forget_after_commit()


def player_revoke_tokens(*, player: Player, at: datetime) -> None:
    """Every token of the player made before `at` is refused from now on. Tokens know whole seconds, so one made later
    in the same second is refused as well: better a new one too few than an old one too many.
    """
    player.tokens_valid_from = at
    player.save(update_fields=["tokens_valid_from"])
    forget_after_commit()


def default_name(player_id: str) -> str:
    """A player nobody named yet is called by its id, where that can be shown."""
    try:
        return names.clean_name(player_id)
    except names.NameRefused:
        return "Player"


def _checked(player_id: str, wanted: PlayerUpsert, game: GameRecord) -> dict[str, str]:
    errors: dict[str, list[str]] = {}
    fields: dict[str, str] = {}
    checks = {
        "display_name": lambda name: _moderated(name, game.slug),
        "country": countries.check_country,
        "region": names.check_region,
        "avatar_url": _web_address,
    }
    for field, check in checks.items():
        value = getattr(wanted, field)
        if value is UNSET:
            continue
        try:
            fields[field] = "" if value is None else check(value)
        except ValueError as error:
            errors[field] = [str(error)]
    try:
        names.check_player_id(player_id)
    except ValueError as error:
        errors["player_id"] = [str(error)]
    if errors:
        raise InvalidRequest("; ".join(f"{field}: {why[0]}" for field, why in errors.items()), errors=errors)
    return fields


def _moderated(raw: str, game: str) -> str:
    name = names.clean_name(raw)
    names.moderate(name, game=game, checks=[import_string(path) for path in settings.NAME_CHECKS])
    return name


def _web_address(raw: str) -> str:
    if not raw.isascii() or not raw.isprintable() or any(character in raw for character in " \"'<>\\^`{|}"):
        raise ValueError("An avatar's address is plain ASCII without spaces or quotes.")
    try:
        _address_is_valid(raw)  # as the admin's form does, which could not save the player otherwise
    except ValidationError:
        raise ValueError("An avatar's address is a whole one, like https://cdn.example.com/nova.png.") from None
    return raw
