"""An attempt is in the log once: sent by many at once, in other orders, over midnight, with no partition to go to."""

import random
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from psycopg import sql

from leaderboards import log, partitions, standings
from leaderboards.errors import AttemptConflict
from leaderboards.models import Mode, Outbox
from leaderboards.outbox import decode_scores
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Player
from tests.at_once import at_once
from tests.factories import make_game, make_mode, make_player, record_of

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)
Sent = tuple[str, int, UUID]  # player, score, attempt


@pytest.fixture
def mode() -> Mode:
    return make_mode(make_game(), aggregation="sum", min_score=0, max_score=1000, max_total=10**9)


def submit(mode: Mode, *sent: Sent) -> list[object]:
    items = [
        Item(mode, Submission(player_id=player, score=score, attempt_id=attempt)) for player, score, attempt in sent
    ]
    return list(scores_submit(game=record_of(mode.game), caller=Caller(Kind.KEY, game=mode.game.slug), items=items))


def duplicates(outcomes: list[object]) -> list[bool]:
    assert all(isinstance(one, Outcome) for one in outcomes), outcomes
    return [one.duplicate for one in outcomes if isinstance(one, Outcome)]


def logged(mode: Mode) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM score_attempts WHERE mode_id = %s", [mode.pk])
        count: int = cursor.fetchone()[0]
    return count


def pending(mode: Mode) -> int:
    """How many attempts the boards are yet to hear of."""
    return sum(len(decode_scores(bytes(row.payload)).rows) for row in Outbox.objects.filter(mode=mode))


def test_the_same_attempt_from_many_at_once_is_logged_once(mode: Mode) -> None:
    attempt = uuid4()
    outcomes = at_once(lambda _: submit(mode, ("p-1", 5, attempt)), threads=16)
    assert sorted(again for one in outcomes for again in duplicates(one)) == [False] + [True] * 15
    assert (logged(mode), pending(mode)) == (1, 1)


def test_a_batch_sent_at_once_in_other_orders_is_logged_once_and_deadlocks_nobody(mode: Mode) -> None:
    batch = [(f"p-{number % 50}", number % 7, uuid4()) for number in range(500)]

    def send(number: int) -> list[object]:
        return submit(mode, *random.Random(number).sample(batch, len(batch)))  # noqa: S311 - an order, not a secret

    outcomes = at_once(send, threads=4)
    assert sum(not again for one in outcomes for again in duplicates(one)) == 500
    assert (logged(mode), pending(mode)) == (500, 500)
    assert Player.objects.filter(game=mode.game).count() == 50


def test_a_batch_that_repeats_itself_counts_once(mode: Mode) -> None:
    attempt = uuid4()
    assert duplicates(submit(mode, ("p-1", 5, attempt), ("p-1", 5, attempt))) == [False, True]
    first, second = submit(mode, ("p-2", 5, attempt), ("p-2", 6, attempt))
    assert isinstance(first, Outcome)
    assert isinstance(second, AttemptConflict)
    assert (logged(mode), pending(mode)) == (2, 2)


def arrive(mode: Mode, player: Player, attempt: UUID, *, days_ago: int, score: int = 5) -> datetime:
    """As if it had come then; -1: before the database's clock was set back."""
    arrived = datetime.combine(partitions.today() - days_ago * DAY, datetime.max.time(), UTC)
    partitions.make(partitions.day_of(arrived))
    entry = log.Attempt(mode.pk, player.pk, attempt, score=score, achieved_at=arrived, windows=8)
    log.append([entry], arrival=log.enter()._replace(at=arrived))
    return arrived


@pytest.mark.parametrize(("days_ago", "again"), [(-1, True), (1, True), (2, True), (3, False)])
def test_a_retry_over_midnight_is_still_one_score(mode: Mode, days_ago: int, again: bool) -> None:
    attempt = uuid4()
    arrive(mode, make_player(mode.game, "p-1"), attempt, days_ago=days_ago)
    assert duplicates(submit(mode, ("p-1", 5, attempt))) == [again]
    assert duplicates(submit(mode, ("p-1", 5, attempt))) == [True]
    assert pending(mode) == (0 if again else 1)
    (conflict,) = submit(mode, ("p-1", 6, attempt))
    assert isinstance(conflict, AttemptConflict)


def test_a_key_used_again_after_its_time_answers_with_its_last_attempt(mode: Mode) -> None:
    attempt = uuid4()
    arrive(mode, make_player(mode.game, "p-1"), attempt, days_ago=3, score=5)
    assert duplicates(submit(mode, ("p-1", 6, attempt))) == [False]
    assert duplicates(submit(mode, ("p-1", 6, attempt))) == [True]


def test_a_player_is_counted_anew_without_all_its_attempts_in_memory(mode: Mode) -> None:
    player, many = make_player(mode.game).pk, 40_000
    today = partitions.today()
    partitions.make(today)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO score_attempts (received_at, mode_id, player_id, attempt_id, score, achieved_at, windows)"
            " SELECT %s, %s, %s, gen_random_uuid(), 1, %s, 8 FROM generate_series(1, %s)",
            [at := datetime.combine(today, datetime.min.time(), UTC), mode.pk, player, at, many],
        )
    tracemalloc.start()
    try:
        (told,) = standings.counted(mode, [player]).values()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told.score == many
    assert most < 4_000_000, "as much as some thousand rows take, not forty thousand"


MIDNIGHT = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + interval '%s seconds'"


@pytest.fixture
def shifted() -> Iterator[None]:
    """The log's own function with another clock: `entering_after(seconds past today's midnight)`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = 'score_attempts_enter'")
        body = cursor.fetchone()[0].replace("clock_timestamp()", "entering.at")
        for seconds in (299, 300):
            at = MIDNIGHT % seconds
            cursor.execute(
                sql.SQL("CREATE FUNCTION {}() RETURNS timestamptz LANGUAGE plpgsql AS {}").format(
                    sql.Identifier(f"entering_after_{seconds}"), sql.Literal(body.replace("entering.at", f"({at})"))
                )
            )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION entering_after_299(), entering_after_300()")


def test_the_first_minutes_of_a_day_wait_for_the_writers_of_the_day_before(shifted: None) -> None:
    yesterday = (partitions.today() - date(1970, 1, 1)).days - 1
    written, entered = threading.Event(), threading.Event()

    def write_and_enter(number: int) -> datetime | None:
        with transaction.atomic(), connection.cursor() as cursor:
            if number == 0:
                cursor.execute("SELECT pg_advisory_xact_lock_shared(7301, %s)", [yesterday])
                written.set()
                assert not entered.wait(timeout=0.7), "entered while yesterday was still being written"
                return None
            assert written.wait(timeout=10)
            cursor.execute("SELECT entering_after_300()")  # waits for nobody
            cursor.execute("SELECT entering_after_299()")
            entered.set()
            arrived: datetime = cursor.fetchone()[0]
            return arrived

    _, arrived = at_once(write_and_enter, threads=2)
    assert arrived is not None
    assert partitions.day_of(arrived) == partitions.today()
    assert locks() == 0, "no lock outlives its transaction"


def locks() -> int:
    """Of any day, held or waited for."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE locktype = 'advisory' AND classid = 7301 AND datname = current_database()"
        )
        found: int = cursor.fetchone()[0]
    return found


def test_who_has_waited_for_a_days_writers_keeps_nobody_from_writing() -> None:
    with transaction.atomic():
        partitions.settle(partitions.today())
        assert locks() == 0


def drop_partitions() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'score_attempts'::regclass")
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))


def test_a_missing_partition_is_made_by_need(mode: Mode) -> None:
    drop_partitions()
    outcomes = at_once(lambda number: submit(mode, (f"p-{number}", 5, uuid4())), threads=8)
    assert [again for one in outcomes for again in duplicates(one)] == [False] * 8
    assert logged(mode) == 8


def test_makers_that_race_make_a_partition_once() -> None:
    drop_partitions()
    today = partitions.today()
    made = at_once(lambda _: partitions.make_ahead(today), threads=8)
    assert sorted(name for names in made for name in names) == [
        partitions.name(today + offset * DAY) for offset in range(-partitions.RECENT, partitions.AHEAD + 1)
    ]
