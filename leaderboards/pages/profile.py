"""A player's page: where it stands on all boards, and how it got there. Others see what boards show, and no more."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from config import avatars, clock
from config.errors import Unavailable
from leaderboards.attempts import attempt_list
from leaderboards.careers import career
from leaderboards.models import Mode
from leaderboards.pages import numbers, times, visitors, words
from leaderboards.pages.progress import attempts_chart, score_charts
from leaderboards.pages.who import who_is
from leaderboards.player_ranks import player_ranks
from leaderboards.wire_players import RankState
from leaderboards.wire_scores import AttemptsQuery, AttemptState
from players.access import Caller
from players.lookups import GameRecord
from players.models import Player
from players.scopes import Scope
from players.selectors import bans_known, player_get

_RECENT = 20
_STATES = {
    "accepted": gettext_lazy("Counts"),
    "quarantined": gettext_lazy("Is being looked at"),
    "rejected": gettext_lazy("Does not count"),
    "taken_back": gettext_lazy("Was taken back"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the player stands on one board."""

    address: str
    rank: int
    rank_text: str
    score: str
    said: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """A mode's boards: a line for each scope, in it a place for each window, by its name."""

    title: str
    windows: list[str]
    lines: list[tuple[str, list[tuple[str, Place | None]]]]


@dataclass(frozen=True, slots=True)
class Recent:
    """One attempt, for who may know what became of it."""

    mode: str
    score: str
    at: datetime
    ago: str
    state: str
    said: str
    reasons: list[str]


@gzip_page
@require_safe
def profile(request: HttpRequest, game: str, player_id: str) -> HttpResponse:
    caller = visitors.caller_of(request, game)
    record = visitors.readable(caller, game)
    player = player_get(game=record, player_id=player_id)
    context = _context(record, player, caller, now=clock.now())
    return visitors.shown(render(request, "leaderboards/profile.html", context), alike=True)


def _context(game: GameRecord, player: Player, caller: Caller, *, now: datetime) -> dict[str, Any]:
    own = caller.is_player(player.player_id or "")
    whole = own or Scope.READ in caller.scopes  # as the API tells attempts
    known = career(player.pk, now=now, whole=whole)
    modes = Mode.objects.in_bulk({one.mode for one in known.done})
    return {
        "game": game,
        "who": who_is(caller, game),
        "player": player,
        "avatar": avatars.shown(player.avatar_url),
        "flag": words.flag_of(player.country),
        "own": own,
        "whole": whole,
        "bans": bans_known(player=player.pk, at=now) if own else [],
        "ladders": _ladders(game, player, caller, now=now),
        "charts": score_charts(known, modes, now=now, whole=whole),
        "attempts": attempts_chart(known, now=now),
        "recent": _recent(player, now=now) if whole else [],
    }


def _ladders(game: GameRecord, player: Player, caller: Caller, *, now: datetime) -> list[Ladder] | None:
    """By mode; None where the boards do not answer just now."""
    try:
        found = player_ranks(game=game, player_id=player.player_id or "", viewer=caller.player_id, at=now)
    except Unavailable:
        return None
    by_mode = groupby(found.ranks, key=lambda rank: (rank.mode, rank.title))
    return [_ladder(title, list(ranks)) for (_mode, title), ranks in by_mode]


def _ladder(title: str, ranks: list[RankState]) -> Ladder:
    windows, scopes = dict.fromkeys(one.window for one in ranks), dict.fromkeys(one.scope for one in ranks)
    found = {(one.scope, one.window): _place(one) for one in ranks}
    named = {window: words.window_name(window) for window in windows}
    lines = [
        (words.scope_name(scope), [(name, found.get((scope, window))) for window, name in named.items()])
        for scope in scopes
    ]
    return Ladder(title, list(named.values()), lines)


def _place(one: RankState) -> Place:
    told = {"total": numbers.whole(one.total), "percent": numbers.percent(one.top_percent, up=True)}
    return Place(
        address=_board_address(one),
        rank=one.rank,
        rank_text=numbers.whole(one.rank),
        score=numbers.score_text(one.score, _decimals(one.score)),
        said=_("of %(total)s, top %(percent)s %%") % told,
    )


def _board_address(one: RankState) -> str:
    address = reverse("board-page", args=[one.game, one.mode, one.window])
    return address if one.scope == "global" else f"{address}?{urlencode({'scope': one.scope})}"


def _recent(player: Player, *, now: datetime) -> list[Recent]:
    found = attempt_list(player=player, asked=AttemptsQuery(limit=_RECENT)).attempts
    titles = dict(
        Mode.objects.filter(game=player.game_id, slug__in={one.mode for one in found}).values_list("slug", "title")
    )
    return [_attempt(one, titles.get(one.mode, one.mode), now=now) for one in found]


def _attempt(one: AttemptState, title: str, *, now: datetime) -> Recent:
    score, ago = numbers.score_text(one.score, _decimals(one.score)), times.ago(one.received_at, now=now)
    reasons = [_(reason) for reason in one.reasons]  # a check's, marked where it says so; a person's stay as written
    return Recent(title, score, one.received_at, ago, one.state, str(_STATES[one.state]), reasons)


def _decimals(score: Decimal | int) -> int:
    exponent = score.as_tuple().exponent if isinstance(score, Decimal) else 0
    return -exponent if isinstance(exponent, int) else 0
