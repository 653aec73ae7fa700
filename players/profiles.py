"""Who stands on the boards: what is shown of players, kept in the process and forgotten as soon as one changes."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models.signals import post_save

from config.recall import Shelf
from config.sql import numbers, texts
from players.models import Player

_Id = tuple[int, str]  # game, player_id


@dataclass(frozen=True, slots=True)
class Profile:
    """Of a player who has not been erased."""

    pk: int
    game: int
    player_id: str
    display_name: str
    country: str | None
    avatar_url: str | None


def profiles(pks: Collection[int]) -> dict[int, Profile]:
    return _profiles.get(pks)


def pks_of(game: int, player_ids: Collection[str]) -> dict[str, int]:
    """Of those that are registered."""
    found = _pks.get([(game, one) for one in player_ids])
    return {one: pk for (_, one), pk in found.items()}


def pks_named(ids: Collection[_Id]) -> dict[_Id, int]:
    """Of those that there are, of any games. Who was erased has no id any more."""
    return _pks.get(ids)


def profiles_named(ids: Collection[_Id]) -> dict[_Id, Profile]:
    """The same, with all that is shown of them."""
    pks = _pks.get(ids)
    found = profiles(set(pks.values()))
    return {one: found[pk] for one, pk in pks.items() if pk in found}


def _load_profiles(pks: Collection[int]) -> dict[int, Profile]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, game_id, player_id, display_name, nullif(country, ''), nullif(avatar_url, '')"
            " FROM players_player WHERE id = ANY(%s::bigint[]) AND erased_at IS NULL",
            [numbers(pks)],
        )
        return {row[0]: Profile(*row) for row in cursor.fetchall()}


def _load_pks(ids: Collection[_Id]) -> dict[_Id, int]:
    ids = [one for one in ids if "\0" not in one[1]]  # which PostgreSQL refuses, and nobody is called
    with connection.cursor() as cursor:
        cursor.execute(
            # looked up one by one, by index: a plan that reads the whole table must not be thought of
            "SELECT i.game, i.player, p.id FROM unnest(%s::bigint[], %s::text[]) AS i (game, player) CROSS JOIN LATERAL"
            " (SELECT id FROM players_player p WHERE p.game_id = i.game AND p.player_id = i.player LIMIT 1) p",
            [numbers(game for game, _ in ids), texts(player_id for _, player_id in ids)],
        )
        return {(game, player_id): pk for game, player_id, pk in cursor.fetchall()}


_profiles: Shelf[int, Profile] = Shelf("profiles", _load_profiles)
# an erased id may be registered anew with another pk: erasing makes every process forget all
_pks: Shelf[_Id, int] = Shelf("pks", _load_pks, size=1_000_000)


def _changed(instance: Player, created: bool, **_: object) -> None:
    if not created:
        transaction.on_commit(lambda: _profiles.changed(instance.pk))


def connect() -> None:
    post_save.connect(_changed, sender=Player, dispatch_uid="forget-profile")
