"""Callers who only stand there, and those who read a byte now and then, stop nobody: bench/connections.py, smaller."""

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from bench import connections, mix
from config.wire import Exact
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from tests.factories import make_game, make_mode, record_of
from tests.leaderboards.spine import drain
from tests.live import web

pytestmark = pytest.mark.django_db(transaction=True)
IDLE, SLOW = 2200, 100


@pytest.fixture
def _long_board() -> None:
    mode = make_mode(make_game(mix.GAME), "main", min_score=0, max_score=1000)
    sent = [Submission(player_id=f"p-{n}", attempt_id=UUID(int=n), score=Exact(n)) for n in range(1, 1001)]
    caller = Caller(Kind.KEY, game=mode.game.slug)
    scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, one) for one in sent])
    drain(mode)


@pytest.fixture
def _many_files() -> Iterator[None]:
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))


@pytest.mark.usefixtures("_long_board", "_many_files")
def test_others_are_answered_beside_thousands_who_are_in_no_hurry(tmp_path: Path) -> None:
    with web(tmp_path, RUNG_CONNECTIONS_PER_ADDRESS="10000") as running:
        told = asyncio.run(connections.hold(running.port, idle=IDLE, slow=SLOW, measure=1))
    assert (told.idle, told.slow) == (IDLE, SLOW)
    assert (told.before.failed, told.during.failed) == (0, 0)
    assert told.during.requests > 0
