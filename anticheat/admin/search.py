"""One box for whatever an operator holds in hand: an id, a name, an attempt, the beginning of a key, an address."""

import ipaddress
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.utils import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from anticheat.admin.access import need
from anticheat.models import Finding
from config import wire
from leaderboards import partitions
from players.models import ApiKey, Player

MOST = 25
_LONGEST = 100
_DAYS = 3  # newest first: what the log is searched for without an index
_PATIENCE = "1500ms"


class Sought(NamedTuple):
    """`unsure`: there was too much to look through; whoever says whose it is finds it by index."""

    players: list[Player]
    attempts: list[dict[str, Any]]
    keys: list[ApiKey]
    unsure: bool = False


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    user = need(request, "players.view_player", "anticheat.view_case")
    asked = request.GET.get("q", "").strip()[:_LONGEST]
    found = sought(asked, user) if asked else None
    context = admin.site.each_context(request) | {"title": "Search", "asked": asked, "found": found}
    return TemplateResponse(request, "admin/anticheat/search.html", context)


def sought(asked: str, user: User) -> Sought:
    first, _, last = asked.rpartition(" ")
    if attempt := wire.uuid(last):
        attempts, unsure = _attempts(attempt, first.strip())
        return Sought(_players(asked), attempts, [], unsure)
    keys = list(ApiKey.objects.filter(prefix__startswith=asked.removeprefix("rung_").partition("_")[0])[:MOST])
    if _is_address(asked):
        attempts, unsure = _logged("a.client ->> 'address' = %s", [asked])
        return Sought([], attempts, [], unsure)
    return Sought(_players(asked), [], keys if user.has_perm("players.view_apikey") else [])


def _players(asked: str) -> list[Player]:
    """By how an id or a name begins: two looks, each by an index."""
    found = {}
    for begins in ("player_id__startswith", "display_name__istartswith"):
        for player in Player.objects.filter(**{begins: asked}).select_related("game")[:MOST]:
            found[player.pk] = player
    return sorted(found.values(), key=lambda one: (one.player_id != asked, one.display_name))[:MOST]


def _attempts(attempt: UUID, player: str) -> tuple[list[dict[str, Any]], bool]:
    """Of a player who is named, or that a check has spoken of: by index. Else among what arrived lately."""
    players = list(Player.objects.filter(player_id=player).values_list("pk", flat=True)[:MOST]) if player else []
    players += [one.case.player_id for one in Finding.objects.filter(attempt_id=attempt).select_related("case")[:MOST]]
    if players:
        return _logged("a.player_id = ANY(%s) AND a.attempt_id = %s", [players, attempt], days=None)
    return _logged("a.attempt_id = %s", [attempt])


def _logged(where: str, values: list[Any], *, days: int | None = _DAYS) -> tuple[list[dict[str, Any]], bool]:
    """What the log has, newest day first, and whether patience ended before."""
    found: list[dict[str, Any]] = []
    past = [day for day in partitions.days() if day <= partitions.today()]
    for day in past[::-1][:days]:
        try:
            found += _of_day(where, [*values, *partitions.span_of(day)])
        except OperationalError:  # it took too long
            return found, True
        if len(found) >= MOST:
            break
    return found[:MOST], False


def _of_day(where: str, values: list[Any]) -> list[dict[str, Any]]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = '{_PATIENCE}'")
        cursor.execute(
            "SELECT a.attempt_id, a.player_id, a.received_at, a.score, p.player_id, p.display_name, g.slug, m.slug"  # noqa: S608
            " FROM score_attempts a JOIN players_player p ON p.id = a.player_id"
            " JOIN leaderboards_mode m ON m.id = a.mode_id JOIN players_game g ON g.id = m.game_id"
            f" WHERE {where} AND a.received_at >= %s AND a.received_at < %s LIMIT {MOST}",
            values,
        )
        names = ("attempt_id", "player", "received_at", "score", "player_id", "name", "game", "mode")
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
