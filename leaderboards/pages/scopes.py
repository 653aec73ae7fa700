"""Which scopes a board's page offers. Friends and guilds get their entries here when they come."""

from dataclasses import dataclass

from django.core.cache import cache

from leaderboards.dimension_values import values_seen
from leaderboards.models import Mode
from leaderboards.pages import words

_KEPT = 60  # seconds
_MOST = 250  # values of a dimension


@dataclass(frozen=True, slots=True)
class Choice:
    scope: str
    name: str
    country: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    choices: list[Choice]


def scope_groups(mode: Mode, chosen: str) -> list[Group]:
    """By dimension, in the order that the mode declares them."""
    seen = _seen(mode)
    groups = []
    for dimension in mode.dimensions:
        values = {*seen.get(dimension, ()), *mode.values.get(dimension, ())}
        if chosen.startswith(f"{dimension}:"):
            values.add(chosen.partition(":")[2])
        if values:
            groups.append(Group(words.dimension_name(dimension), _choices(dimension, values, chosen)))
    return groups


def _choices(dimension: str, values: set[str], chosen: str) -> list[Choice]:
    ordered = sorted(values, key=lambda value: value.zfill(20) if value.isdigit() else value.lower())
    return [
        Choice(
            scope := f"{dimension}:{value}",
            words.value_name(dimension, value),
            value if dimension == "country" else "",
            scope == chosen,
        )
        for value in ordered[:_MOST]
    ]


def _seen(mode: Mode) -> dict[str, list[str]]:
    key = f"scopes:{mode.pk}"
    found: dict[str, list[str]] | None = cache.get(key)
    if found is None:
        found = values_seen(mode.pk, most=_MOST)
        cache.set(key, found, _KEPT)
    return found
