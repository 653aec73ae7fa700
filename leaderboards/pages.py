"""Pages for people, with Django templates."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboards.selectors import game_state
from players.access import NOBODY, may_read
from players.countries import flag
from players.models import Player
from players.selectors import games_visible, players_newest

_SHOWN = 14
_GAMES = 20


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    games = [_card(game.slug, now) for game in games_visible(NOBODY)[:_GAMES]]
    return render(request, "leaderboards/home.html", {"games": games})


def _card(slug: str, now: datetime) -> dict[str, Any]:
    game = may_read(NOBODY, slug)
    newest = players_newest(game=game.pk, most=60)
    countries = dict.fromkeys(player.country for player in newest if player.country)
    return {
        "state": game_state(game, at=now),
        "newest": [_face(player) for player in newest[:_SHOWN]],
        "countries": [(code, flag(code)) for code in list(countries)[: 2 * _SHOWN]],
    }


def _face(player: Player) -> dict[str, str]:
    return {
        "name": player.display_name,
        "country": player.country,
        "flag": flag(player.country) if player.country else "",
    }
