"""How a game sends scores to one mode: code to paste, and whether the first one has come."""

import random
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from config import valkey
from config.address import client_address
from config.errors import DomainError, NotFound, RateLimited
from config.pages import in_words
from config.request_context import current_id
from config.wire import Exact
from leaderboards import first_scores
from leaderboards.boards.board import longest_board
from leaderboards.demo.key import demo_at_home, demo_key_kept
from leaderboards.ghosts import seen_by
from leaderboards.models import Mode
from leaderboards.pages import numbers, visitors
from leaderboards.pages.feed import feed_of
from leaderboards.pages.snippets import KEY, example_dimensions, example_score, score_snippets, vouching_snippet
from leaderboards.pages.who import who_is
from leaderboards.score_states import submission_state
from leaderboards.selectors import mode_get
from leaderboards.services.one_score import Asked, score_submit
from leaderboards.services.scores import Item
from leaderboards.wire_scores import Submission, SubmissionState
from players.access import Caller, Kind
from players.lookups import GameRecord

VISITOR = "visitor"  # whose test scores are, unless a player is signed in
_PATIENCE = 2  # seconds that the boards have to show a test score
_EVERY = 1  # seconds: a test score, whoever sends it
_HAPPENINGS = 5


@require_http_methods(["GET", "HEAD", "POST"])
def integrate(request: HttpRequest, game: str, mode: str) -> HttpResponse:
    caller = visitors.caller_of(request, game)
    record = visitors.readable(caller, game)
    found = mode_get(game=record, mode=mode)
    if request.GET.get("part") == "arrival":
        return visitors.shown(render(request, "leaderboards/_arrival.html", _arrival(found, now=timezone.now())))
    at_home = _is_at_home(request, game)
    context = _context(request, record, found, at_home=at_home) | {"who": who_is(caller, record)}
    if request.method == "POST":
        if not context["testable"]:
            raise NotFound
        context |= _tested(record, found, caller)
        found.refresh_from_db()
    context |= _arrival(found, now=timezone.now())
    response = visitors.shown(render(request, "leaderboards/integrate.html", context))
    if at_home:
        response.headers["Cache-Control"] = "private, no-store"  # there is a key on it
    return response


def _context(request: HttpRequest, game: GameRecord, mode: Mode, *, at_home: bool) -> dict[str, Any]:
    origin = request.build_absolute_uri("/").rstrip("/")
    key = (demo_key_kept() if at_home else None) or KEY
    return {
        "game": game,
        "mode": mode,
        "window": mode.windows[0],
        "snippets": score_snippets(mode, origin=origin, key=key),
        "vouching": vouching_snippet(mode, origin=origin, key=key) if mode.submit == "token" else None,
        "key_filled_in": key != KEY,
        "testable": at_home and mode.active and mode.submit != "token",
    }


def _arrival(mode: Mode, *, now: datetime) -> dict[str, Any]:
    """Whether scores have come, and what has just happened."""
    come = mode.first_score_at is not None
    return {
        "mode": mode,
        "come": come,
        "request_id": first_scores.noted(mode) if come else None,
        "feed": feed_of([mode], now=now, most=_HAPPENINGS) if come else [],
    }


def _is_at_home(request: HttpRequest, game: str) -> bool:
    if {"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & request.META.keys():
        return False  # somebody else's machine is in between
    host, _port = split_domain_port(request.get_host())
    return demo_at_home(game, address=client_address(request.META), host=host.strip("[]"))


def _tested(game: GameRecord, mode: Mode, caller: Caller) -> dict[str, Any]:
    """A real score, through the same service as any; what went wrong is told on the page."""
    try:
        if not valkey.cache_add(f"rung:test-score:{mode.pk}", seconds=_EVERY):
            return {"refused": RateLimited(), "why": _("One test score a second is enough.")}
        told = _submitted(game, mode, caller.player_id or VISITOR)
    except DomainError as error:
        return {"refused": error, "why": in_words(error)}
    return {"told": told, "told_score": numbers.score_text(told.score, mode.decimals), "told_request": current_id()}


def _submitted(game: GameRecord, mode: Mode, player_id: str) -> SubmissionState:
    at, share = timezone.now(), random.uniform(0.1, 0.9)  # noqa: S311 - no secret
    trusted = mode.submit == "trusted"
    caller = Caller(Kind.KEY if trusted else Kind.PLAYER, game=game.slug, player_id=None if trusted else player_id)
    sent = Submission(
        player_id=player_id, score=Exact(example_score(mode, share=share)), dimensions=example_dimensions(mode)
    )
    board = seen_by(longest_board(mode, at=at), player_id, at=at)
    asked = Asked(game, Item(mode, sent, caller), board, board.window.kind.value)
    with first_scores.awaited(mode, current_id()):
        told = score_submit(asked=asked, wait=_PATIENCE)
    return submission_state(told, asked.window)
