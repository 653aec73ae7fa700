"""Puts back what cases have changed of the world itself: operators lose rights, keys are revoked, modes are closed.

Without it, after some thousand cases nobody could do anything any more, and every answer would be a refusal.
"""

from typing import Any

from django.contrib.auth.models import Group, User
from django.core import serializers
from django.db import DatabaseError, connection

from players.models import ApiKey, ErasedId, Game, Player
from tests.fuzz.target import World
from tests.fuzz.world import STAFF, is_signed_in, sign_in

_KEPT = (Group, User, Game, ApiKey)


class Mender:
    """Made when the world is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rows = {model: self._read(model, None) for model in _KEPT}

    def mend(self) -> None:
        """As far as cases that run meanwhile let it; what is left is mended the next time."""
        try:
            self._mend()
        except (DatabaseError, User.DoesNotExist, ValueError):
            pass
        finally:
            connection.close()

    def _mend(self) -> None:
        for model, rows in self._rows.items():
            if self._read(model, [row["pk"] for row in rows]) != rows:
                for row in serializers.deserialize("python", rows):
                    row.save()
        self._mend_players()
        for role in STAFF:
            key = self._world.cookies[role].partition("sessionid=")[2].partition(";")[0]
            user = User.objects.get(username=role)
            if not is_signed_in(user, key):
                sign_in(user, key)

    def _mend_players(self) -> None:
        ErasedId.objects.all().delete()
        Player.objects.filter(tokens_valid_from__isnull=False).update(tokens_valid_from=None)

    def _read(self, model: Any, pks: list[Any] | None) -> list[dict[str, Any]]:
        found = model.objects.order_by("pk")
        ignored = ("last_login", "last_used_at")
        rows = serializers.serialize("python", found if pks is None else found.filter(pk__in=pks))
        return [row | {"fields": {n: v for n, v in row["fields"].items() if n not in ignored}} for row in rows]
