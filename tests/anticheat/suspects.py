"""Players in whose scores something was found, made the way checks make them: a case, and findings in it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from anticheat.models import Case, Finding
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import ClientInfo, Submission
from players.access import Caller, Kind
from players.models import Player
from tests.factories import make_game, make_mode, record_of
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit


def make_crowd(slug: str = "arena", **rules: Any) -> Mode:
    """Twelve honest players with 10 to 120, and nova with 15 and 900."""
    mode = make_mode(make_game(slug), **{"min_score": 0, "max_score": 1000, **rules})
    scores = [(f"p{number:02}", number * 10) for number in range(1, 13)]
    now = datetime.now(UTC)
    for number, (player, score) in enumerate([*scores, ("nova", 15), ("nova", 900)], start=1):
        submit(mode, player, score, now - timedelta(seconds=20 - number), number)
    drain(mode)
    mode.refresh_from_db()
    return mode


def make_exploiters(mode: Mode, *, many: int) -> None:
    """With a build of their own, ahead of everybody else."""
    sent = [
        Submission(player_id=f"x{n}", score=500 + n, attempt_id=uuid4(), client=ClientInfo(build="1.42.0"))
        for n in range(many)
    ]
    caller = Caller(Kind.KEY, game=mode.game.slug)
    scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, one) for one in sent])
    drain(mode)


def make_case(
    mode: Mode, player: str = "nova", *, attempts: Iterable[int] = (14,), check: str = "outlier", **fields: Any
) -> Case:
    """`attempts`: their numbers as submitted."""
    whom = Player.objects.get(game=mode.game, player_id=player)
    fields = {"risk": 0.8, "rank": 1, "priority": 0.8, **fields}
    case = Case.objects.create(game=mode.game, mode=mode, player=whom, **fields)
    for number in attempts:
        add_finding(case, number, check=check)
    return case


def add_finding(case: Case, number: int, *, check: str = "outlier", verdict: str = "flag") -> Finding:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, attempt_id, received_at, score FROM score_attempts WHERE player_id = %s AND attempt_id = %s",
            [case.player_id, UUID(int=number)],
        )
        id_, attempt_id, received_at, score = cursor.fetchone()
    return Finding.objects.create(
        case=case,
        attempt=id_,
        attempt_id=attempt_id,
        received_at=received_at,
        score=score,
        check_name=check,
        verdict=verdict,
        risk=0.8,
        reason="60 times what the player usually reaches (15, 12 of 13 others below 121).",
        details={"mean": 15, "deviation": 1.5, "z": 590},
    )
