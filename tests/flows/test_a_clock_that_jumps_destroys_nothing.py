"""A clock that jumps 40 days, and back: boards and standings are those of a twin whose clock never jumped."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID, uuid4

import httpx
import pytest
import time_machine
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from anticheat import tasks as anticheat_tasks
from anticheat.models import Replay
from config import clock, heartbeat, metrics, valkey
from leaderboards import tasks
from leaderboards.management.commands import rebuild_boards
from leaderboards.models import Mode, Standing
from leaderboards.services.housekeeping import standings_purge
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players import tasks as players_tasks
from players.access import Caller, Kind
from players.models import ErasedId, Game, Player
from players.services import player_erase
from tests.client import ApiClient
from tests.factories import make_key, make_mode, make_player, record_of
from tests.leaderboards.spine import drain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.two_clocks]
DAYS_AGO = (24, 20, 9, 6, 3, 1, 0)
JUMPS = (timedelta(days=40), timedelta(days=-40))
_Rows = list[tuple[str, str, str, int]]


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild_boards, "GRACE", 0)


@pytest.fixture
def solo(arena: Game) -> Mode:
    return _played(make_mode(arena, "solo", dimensions=("country", "level")))


def _played(mode: Mode) -> Mode:
    """Scores of several days, each shown on its boards before the next day began."""
    for days in DAYS_AGO:
        with _all_clocks(timedelta(days=-days)):
            for number in range(6):
                _submit(mode, f"p-{number}", 100 * days + number)
            drain(mode, now=clock.now())
    return mode


def _submit(mode: Mode, player: str, score: int, attempt: UUID | None = None) -> Outcome:
    sent = Submission(player_id=player, score=score, attempt_id=attempt or uuid4(), dimensions={"level": "1"})
    caller = Caller(Kind.KEY, game=mode.game.slug)
    (outcome,) = scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, sent)])
    assert isinstance(outcome, Outcome), outcome
    return outcome


@contextmanager
def _all_clocks(by: timedelta) -> Iterator[None]:
    """The world's time: the database's clock says the same."""
    with pytest.MonkeyPatch.context() as patch, time_machine.travel(datetime.now(UTC) + by, tick=True):
        patch.setattr(clock, "MOST", timedelta.max)
        patch.setattr(clock, "_ahead", timedelta(0))
        yield


def _standings(mode: Mode) -> _Rows:
    rows = Standing.objects.filter(mode=mode).values_list("player__player_id", "window", "scope", "score")
    return sorted(rows)


def _boards(mode: Mode, api: ApiClient, windows: set[str]) -> dict[str, list[tuple[int, str, int]]]:
    """What the API shows of each window, globally and in a submitted scope."""
    found = {}
    for window in windows:
        for scope in ("global", "level:1"):
            url = f"/v1/games/{mode.game.slug}/modes/{mode.slug}/leaderboards/{window}?scope={scope}"
            answer = api.get(url)
            found[f"{window} {scope}"] = [
                (entry["rank"], entry["player_id"], entry["score"]) for entry in answer.json().get("entries", [])
            ]
    return found


def _everything_that_tidies() -> None:
    for task in (
        tasks.tidy_stamps,
        tasks.tidy_standings,
        tasks.tidy_erased,
        tasks.sweep,
        tasks.reconcile,
        tasks.histograms,
        tasks.bans,
        tasks.partitions_ahead,
        players_tasks.erased_ids_sweep,
        anticheat_tasks.tidy_replays,
    ):
        task()


def _repaired() -> str:
    said = StringIO()
    call_command("reconcile", all=True, stdout=said)
    return said.getvalue()


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_a_jump_leaves_the_boards_of_a_twin_that_never_jumped(
    arena: Game, solo: Mode, api: ApiClient, jump: timedelta
) -> None:
    with time_machine.travel(datetime.now(UTC) + jump, tick=True):
        _everything_that_tidies()
        call_command("rebuild_boards", mode="solo", stdout=StringIO(), stderr=StringIO())
        _submit(solo, "p-1", 5000)
        tasks.drain(solo.pk, 0)
        _submit(solo, "p-2", 4000)
        tasks.sweep()
        _repaired()
        _everything_that_tidies()
    _everything_that_tidies()
    assert "0 differed, 0 misplaced" in _repaired()
    twin = _played(make_mode(arena, "twin", dimensions=("country", "level")))
    _submit(twin, "p-1", 5000)
    _submit(twin, "p-2", 4000)
    drain(twin)
    standings_purge(now=clock.asked())
    assert _standings(solo) == _standings(twin)
    windows = {window for _, window, _, _ in _standings(twin)}
    assert len(windows) > len(DAYS_AGO), "days of several weeks"
    assert _boards(solo, api, windows) == _boards(twin, api, windows)


def test_when_all_clocks_jump_what_was_purged_is_made_again(arena: Game, solo: Mode, api: ApiClient) -> None:
    """The whole machine: nobody can tell that its clock is wrong, and even Valkey drops the boards."""
    standings_purge(now=clock.asked())
    before, windows = _standings(solo), {window for _, window, _, _ in _standings(solo)}
    shown = _boards(solo, api, windows)
    assert standings_purge(now=clock.asked() + timedelta(days=40)) > 0
    server = valkey.client(settings.VALKEY_URL)
    for name in server.keys("*daily:*"):
        server.delete(name)
    assert _standings(solo) != before
    assert "remade" in _repaired()
    standings_purge(now=clock.asked())
    assert _standings(solo) == before
    assert _boards(solo, api, windows) == shown
    assert "remade" not in _repaired(), "once"


def test_a_sweep_makes_again_what_was_purged_too_early(solo: Mode) -> None:
    standings_purge(now=clock.asked())
    before = _standings(solo)
    standings_purge(now=clock.asked() + timedelta(days=40))
    tasks.sweep()
    standings_purge(now=clock.asked())
    assert _standings(solo) == before


@pytest.mark.parametrize("jump", JUMPS, ids=str)
@pytest.mark.parametrize("batch", [False, True], ids=["one score", "batch"])
def test_a_door_with_a_wrong_clock_logs_by_the_databases(
    arena: Game, api: ApiClient, jump: timedelta, batch: bool
) -> None:
    make_mode(arena, "solo")
    key = make_key(arena)
    begun = clock.asked()
    with time_machine.travel(datetime.now(UTC) + jump, tick=True):
        sent = {"player_id": "late", "score": 7, "attempt_id": str(uuid4())}
        answer = _sent(api, key, sent, batch=batch)
        again = _sent(api, key, sent, batch=batch)
    assert answer.status_code == 202, answer.text
    assert again.status_code == (202 if batch else 200), again.text
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT achieved_at, received_at FROM score_attempts a JOIN players_player p ON p.id = a.player_id"
            " WHERE p.player_id = 'late'"
        )
        (logged,) = cursor.fetchall()
    assert all(begun - clock.MOST < at < begun + timedelta(minutes=10) for at in logged)


def _sent(api: ApiClient, key: str, sent: dict[str, object], *, batch: bool) -> httpx.Response:
    if batch:
        return api("POST", "/v1/games/arena/scores", credential=key, json={"scores": [{"mode": "solo"} | sent]})
    return api("POST", "/v1/games/arena/modes/solo/scores", credential=key, json=sent)


def test_nothing_is_deleted_while_the_clocks_differ(arena: Game, solo: Mode) -> None:
    player = make_player(arena, "gone")
    player_erase(game=record_of(arena), player_id="gone", at=clock.asked())
    Replay.objects.create(
        attempt=1,
        attempt_id=uuid4(),
        game=arena,
        mode=solo,
        player=player,
        received_at=clock.asked(),
        uploaded_at=clock.asked(),
        name="none",
        sha256=b"",
        size=0,
        media_type="application/json",
        state=Replay.State.KEPT,
    )
    with time_machine.travel(datetime.now(UTC) + timedelta(days=400), tick=True):
        _everything_that_tidies()
    assert ErasedId.objects.count() == 1
    assert Replay.objects.count() == 1
    assert Player.objects.filter(player_id__isnull=True).count() == 1
    assert "rung_deletions_refused_total 0.0" not in metrics.exposition().decode()


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_doctor_tells_which_clock_is_wrong(db: None, jump: timedelta) -> None:
    said = _clocks_of_doctor(jump)
    assert said.startswith("WRONG clocks")
    own, _, others = said.partition(";")
    away = next(float(word) for word in own.split() if word.replace(".", "", 1).isdigit())
    assert abs(away - abs(jump.total_seconds())) < clock.MOST.total_seconds()
    assert ("ahead of" if jump > timedelta(0) else "behind") in own
    assert "that of VALKEY_URL is 0.0 s" in others
    assert _clocks_of_doctor(timedelta(0)).startswith("ok    clocks")


def _clocks_of_doctor(jump: timedelta) -> str:
    said = StringIO()
    heartbeat.note("worker")
    heartbeat.note("beat")
    with time_machine.travel(datetime.now(UTC) + jump, tick=True), suppress(CommandError):
        call_command("doctor", stdout=said)
    return next(line for line in said.getvalue().splitlines() if "clocks" in line)
