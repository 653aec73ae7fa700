"""What pages are looked at with."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from msgspec import UNSET

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Game
from players.scopes import Scope
from tests.factories import make_game, make_mode, make_player, record_of
from tests.leaderboards.spine import drain


def make_crowded_game() -> Game:
    game = make_game("skyline")
    make_mode(game, "arcade", description="One run, one score.", min_score=0, max_score=1000)
    make_mode(game, "lap", order="asc", ranking="competition", timezone="Europe/Berlin", windows=["weekly", "alltime"])
    make_mode(game, "old", aggregation="sum", active=False)
    make_player(game, "nova", display_name="Nova", country="DE", last_seen_at=timezone.now())
    make_player(game, "wide", display_name="W" * 64)
    for number in range(12):
        make_player(game, display_name=f"Wanderer number {number}", country="NZ")
    return game


def make_full_game() -> Game:
    """Three pages of runners, a lap with decimals, and a mode in which nobody has played."""
    game = make_game("arena")
    make_mode(game, description="One run, one score.", min_score=0, max_score=1_000_000, grace_seconds=2 * 24 * 3600)
    make_mode(game, "lap", order="asc", decimals=3)
    make_mode(game, "duel")
    for number in range(1, 121):
        country = ("DE", "NZ", "JP", "")[number % 4]
        make_player(game, f"p-{number}", display_name=f"Runner {number}", country=country, region="eu")
    yesterday = timezone.now() - timedelta(days=1)
    play(game, "solo", {f"p-{number}": 1000 * number for number in range(1, 60)}, at=yesterday)
    play(game, "solo", {f"p-{number}": 100_001 - number for number in range(1, 121)})
    play(game, "lap", {f"p-{number}": f"{30 + number / 7:.3f}" for number in range(1, 9)})
    return game


def play(game: Game, mode: str, scores: Mapping[str, Any], *, at: datetime | None = None, **fields: Any) -> None:
    """Each player's score, on the boards when this returns."""
    drain(send(game, mode, scores, at=at, **fields))


def send(game: Game, mode: str, scores: Mapping[str, Any], *, at: datetime | None = None, **fields: Any) -> Mode:
    """Each player's score, on the boards once a worker has taken it there."""
    found = Mode.objects.select_related("game").get(game=game, slug=mode)
    caller = Caller(Kind.KEY, game=game.slug, scopes=frozenset(Scope))
    sent = [
        Submission(player_id=player, score=Exact(score), achieved_at=at or UNSET, **fields)
        for player, score in scores.items()
    ]
    outcomes = scores_submit(game=record_of(game), caller=caller, items=[Item(found, one) for one in sent])
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return found
