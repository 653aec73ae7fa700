"""What of a change may be kept for ever: no names, nothing secret, nothing that reads back otherwise than written."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from typing import Any

from django.db.models import Model

CHANGED = "changed"  # instead of a value
_PERSONAL = frozenset(
    {"player_id", "display_name", "avatar_url", "country", "region", "metadata", "client", "device", "address"}
)
_OWN_WORDS = frozenset({"why", "reason", "note"})  # an operator's: they stand in `why`, or nowhere
_OPERATORS = frozenset({"email", "first_name", "last_name"})
_SECRET = ("password", "secret")
_LONGEST = 2000  # characters of one value
_DEEPEST = 20


def kept(values: Mapping[str, object]) -> dict[str, Any]:
    return _fields(values, _DEEPEST)


def text(value: str) -> str:
    """PostgreSQL has no U+0000, and UTF-8 no halves of characters."""
    return value.replace("\0", "�").encode("utf-8", "replace").decode()


def _fields(values: Mapping[Any, object], deeper: int) -> dict[str, Any]:
    return {text(str(name)): _hidden(str(name), value) or _plain(value, deeper) for name, value in values.items()}


def _hidden(name: str, value: object) -> str | None:
    """A player's pk is a number, and may stay where a player_id may not."""
    if isinstance(value, int) or value is None:
        return None
    is_hidden = name in _PERSONAL | _OWN_WORDS | _OPERATORS or any(word in name for word in _SECRET)
    return CHANGED if is_hidden else None


def _plain(value: object, deeper: int) -> Any:
    """JSON that is read as it was written: of numbers whole ones alone, others as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Model):
        return value.pk
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if deeper and isinstance(value, Mapping):
        return _fields(value, deeper - 1)
    if deeper and isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(one, deeper - 1) for one in value]
    return CHANGED if isinstance(value, bytes | memoryview) else text(str(value))[:_LONGEST]
