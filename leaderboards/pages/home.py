"""The first page, all games and their live boards; and the page of one game."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from config import clock
from leaderboards.pages.cards import Tops, cards_of
from leaderboards.pages.feed import feed_of
from leaderboards.pages.visitors import caller_of, readable, shown
from leaderboards.pages.who import who_is
from leaderboards.selectors import players_of
from players.access import NOBODY
from players.selectors import games_visible

_GAMES = 12
_MODES = 3  # of each game on the first page; its own has all
_MOST_MODES = 60
_TOLD = 9  # modes of which it is told what just happened


@gzip_page
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    now, tops = clock.now(), Tops()
    games: list[dict[str, Any]] = []
    lookers: dict[int, str | None] = {}
    for game in games_visible(NOBODY)[:_GAMES]:
        caller = caller_of(request, game.slug)
        record, lookers[game.pk] = readable(caller, game.slug), caller.player_id
        cards, more = cards_of(record, caller, tops=tops, now=now, most=_MODES)
        players, today = players_of(game.pk, now)
        games.append({"game": record, "cards": cards, "more": more, "players": players, "today": today})
    modes = [card.mode for one in games for card in one["cards"]][:_TOLD]
    context = {"games": games, "feed": feed_of(modes, now=now, players=lookers)}
    return shown(render(request, "leaderboards/home.html", context), alike=True)


@gzip_page
@require_safe
def game_page(request: HttpRequest, game: str) -> HttpResponse:
    now, caller = clock.now(), caller_of(request, game)
    record = readable(caller, game)
    cards, _ = cards_of(record, caller, tops=Tops(), now=now, most=_MOST_MODES)
    players, today = players_of(record.pk, now)
    context = {
        "game": record,
        "player_id": caller.player_id,
        "who": who_is(caller, record),
        "cards": cards,
        "feed": feed_of([card.mode for card in cards[:_TOLD]], now=now, players={record.pk: caller.player_id}),
        "players": players,
        "today": today,
    }
    return shown(render(request, "leaderboards/game.html", context), alike=True)
