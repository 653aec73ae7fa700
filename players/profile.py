"""What each field of a player's profile must be, for every door."""

import hashlib
import hmac
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.module_loading import import_string

from players import countries, names

_is_address = URLValidator(schemes=["https"])


def profile_checks(game: str) -> dict[str, Callable[[str], str]]:
    """For each field: what is stored for what was given, or ValueError with a sentence."""
    return {
        "display_name": lambda name: _moderated(name, game),
        "country": countries.check_country,
        "region": names.check_region,
        "avatar_url": _address,
    }


def id_digest(game: int, player_id: str) -> bytes:
    """Tells an erased id again without keeping it."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"{game}:{player_id}".encode(), hashlib.sha256)


def _moderated(raw: str, game: str) -> str:
    name = names.clean_name(raw)
    names.moderate(name, game=game, checks=[import_string(path) for path in settings.NAME_CHECKS])
    return name


def _address(raw: str) -> str:
    if not raw.isascii() or not raw.isprintable() or any(character in raw for character in " \"'<>\\^`{|}"):
        raise ValueError("An avatar's address is plain ASCII without spaces or quotes.")
    try:
        _is_address(raw)  # as the admin's form does, which could not save the player otherwise
    except ValidationError:
        raise ValueError("An avatar's address is a whole one, like https://cdn.example.com/nova.png.") from None
    return raw
