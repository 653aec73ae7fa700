"""The whole way: a season into the log, the log judged anew, what was found held against what is known."""

import time
from dataclasses import dataclass
from uuid import uuid4

from anticheat.checks.risk import innocence
from anticheat.evaluation.loading import BEGINS, ENDS, season_load
from anticheat.evaluation.scoring import Scores, score
from anticheat.models import Case, Finding
from anticheat.season.people import MOST_POINTS_A_SECOND
from anticheat.season.play import MAX_SCORE
from anticheat.season.season import labels
from anticheat.services.rejudging import Progress, mode_rejudge
from leaderboards.models import Mode
from players.models import Game

# what a studio knows of its own game, and declares
TUNING = {"timing": {"per_second": MOST_POINTS_A_SECOND * 1.1}}


@dataclass(frozen=True, slots=True)
class Evaluated:
    players: int
    attempts: int
    seed: int
    scores: Scores
    load_seconds: float
    judge_seconds: float


def checks_evaluate(*, seed: int, players: int, progress: Progress | None = None) -> Evaluated:
    """Leaves a game behind: for a database that is thrown away."""
    mode = season_mode()
    began = time.monotonic()
    loaded = season_load(mode=mode, seed=seed, players=players)
    between = time.monotonic()
    mode_rejudge(mode=mode, since=BEGINS, until=ENDS, progress=progress)
    ended = time.monotonic()
    found = season_score(mode=mode, numbers=loaded.players, seed=seed)
    return Evaluated(players, loaded.attempts, seed, found, between - began, ended - between)


def season_mode() -> Mode:
    game = Game.objects.create(slug=f"season-{uuid4().hex[:8]}", title="A season")
    bounds = {"min_score": 0, "max_score": MAX_SCORE}
    return Mode.objects.create(game=game, slug="run", title="Run", checks=TUNING, **bounds)


def season_score(*, mode: Mode, numbers: dict[int, int], seed: int) -> Scores:
    """`numbers`: in the season, by the player's pk."""
    checks: dict[str, dict[int, list[float]]] = {}
    findings = Finding.objects.filter(case__mode=mode).values_list("check_name", "case__player_id", "risk")
    for check, player, risk in findings.iterator():
        checks.setdefault(check, {}).setdefault(numbers[player], []).append(risk)
    cases = Case.objects.filter(mode=mode).values_list("player_id", "risk")
    everything = {numbers[player]: risk for player, risk in cases.iterator()}
    told = {check: {player: 1 - innocence(risks) for player, risks in some.items()} for check, some in checks.items()}
    return score(labels(seed, len(numbers)), told, everything)
