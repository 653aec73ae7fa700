"""What a mortal process may be asked to do. Arguments come as JSON."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from config import valkey
from config.celery import app as celery
from leaderboards import stamp
from leaderboards.drain import stream_drain
from leaderboards.models import Mode
from leaderboards.services.rebuilding import mode_rebuild
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from tests.factories import record_of

celery.loader.import_default_modules()


def open_stores() -> None:
    connection.ensure_connection()
    for url in (settings.VALKEY_URL, settings.CACHE_URL):
        valkey.ping(url)


def take_the_name(name: str) -> None:
    """By which PostgreSQL is asked whether anything of it is left."""
    os.environ["PGAPPNAME"] = name  # for connections to come
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [name])


def drain(mode: int) -> None:
    for shard in range(Mode.objects.get(pk=mode).shards):
        stream_drain(mode_id=mode, shard=shard, now=datetime.now(UTC))


def drain_row_by_row(mode: int) -> None:
    """There is always more, until the last: what was stamped is sent while the next is."""
    stamp.ROWS_A_LOOK = 1
    try:
        drain(mode)
    finally:
        stamp.ROWS_A_LOOK = 100


def rebuild(mode: int) -> None:
    mode_rebuild(mode=Mode.objects.get(pk=mode), now=datetime.now(UTC))


def reshard(mode: int) -> None:
    """Two shards become three, and three two."""
    found = Mode.objects.get(pk=mode)
    mode_rebuild(mode=found, shards=5 - found.shards, now=datetime.now(UTC))


def submit(mode: int, attempts: list[dict[str, Any]]) -> None:
    """Returns once all are acknowledged."""
    found = Mode.objects.select_related("game").get(pk=mode)
    items = [
        Item(
            found,
            Submission(
                player_id=one["player_id"],
                score=one["score"],
                attempt_id=UUID(one["attempt_id"]),
                dimensions=one["dimensions"],
            ),
        )
        for one in attempts
    ]
    caller = Caller(Kind.KEY, game=found.game.slug)
    outcomes = scores_submit(game=record_of(found.game), caller=caller, items=items)
    assert all(isinstance(outcome, Outcome) for outcome in outcomes), outcomes
