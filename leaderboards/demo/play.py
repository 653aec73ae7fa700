"""A day of play for the demo, the same one every time: most are fair, few are great."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item
from leaderboards.wire_scores import Submission


def demo_scores(*, mode: Mode, players: int, now: datetime) -> Iterator[Item]:
    chance = random.Random(mode.slug)  # noqa: S311 - the same day on every machine is the point
    for number in chance.sample(range(1, players + 1), players // 2):
        skill = chance.betavariate(2, 5)
        level = str(chance.randint(1, 3))
        if mode.slug == "lap":
            score, dimensions = Exact(f"{round(180_000 - 150_000 * skill)}e-3"), {}
        else:
            score, dimensions = Exact(round(skill * (250_000 if level == "1" else 990_000))), {"level": level}
        achieved = now - timedelta(seconds=chance.uniform(0, 1800))
        yield Item(mode, Submission(player_id=f"p-{number}", score=score, achieved_at=achieved, dimensions=dimensions))
