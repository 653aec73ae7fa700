"""`simulate`: believable play through the same service as the API, bounded, quiet where nobody looks."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections import Counter
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from anticheat.models import Case
from anticheat.season.cheating import KINDS
from anticheat.simulation import leaders as leading
from anticheat.simulation.actors import Known, actors
from anticheat.simulation.crowd import Crowd
from anticheat.simulation.leaders import Leaders
from anticheat.simulation.scale import scale_of
from config.wire import Exact
from leaderboards.models import Standing
from leaderboards.wire import ValueBounds
from players.models import Player
from tests.embedded.processes_of import wait_until
from tests.factories import make_game, make_mode, make_player
from tests.leaderboards.spine import drain, drained
from tests.live import ROOT, database_url

pytestmark = pytest.mark.django_db(transaction=True)
MODE: dict[str, Any] = {"min_score": 0, "max_score": 1_000_000}


def _simulated(*options: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    call_command("simulate", *options, stdout=out, stderr=err)
    assert err.getvalue() == "", "nobody looks"
    return out.getvalue()


@pytest.fixture
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same people are awake at whatever hour it runs, and who leads is looked for until there is somebody."""
    turns, look = Crowd.turns, Leaders.look

    def found(leaders: Leaders) -> bool:
        look(leaders)
        return bool(leaders.now)

    monkeypatch.setattr(Crowd, "turns", lambda crowd, most, **_: turns(crowd, most, hour=0))
    monkeypatch.setattr(leading, "_EVERY", 0.0)
    monkeypatch.setattr(Leaders, "look", lambda leaders: wait_until(lambda: found(leaders)))


@pytest.mark.usefixtures("_steady")
def test_four_seconds_are_lively_and_who_cheats_is_found() -> None:
    game = make_game("arena")
    bounds = {"level:1": ValueBounds(max_score=Exact(900))}
    mode = make_mode(game, **MODE, dimensions=("region", "country", "level"), bounds=bounds)
    for number in range(40):
        make_player(game, f"p-{number}", country="DE", region="eu")
    with drained(mode):
        told = _simulated("arena", "solo", "--rate", "300", "--seconds", "4", "--players", "60", "--seed", "7")
    drain(mode)
    sent = re.match(r"Sent ([\d,]+) scores of ([\d,]+) players in ", told)
    assert sent is not None, told
    assert "Refused" not in told
    assert sum(kind in told for kind in KINDS) >= 3
    assert "cases were opened" in told
    assert "new leaders of daily; now " in told
    assert told.endswith("--seed 7.\n")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(DISTINCT player_id), max(score) FROM score_attempts WHERE mode_id = %s", [mode.pk]
        )
        scores, players, best = cursor.fetchone()
    assert [f"{scores:,}", f"{players:,}"] == list(sent.groups())
    assert 150 <= scores <= 1200
    assert 30 < players <= 72
    assert best <= 900, "of the only level that is known"
    assert 0 < Case.objects.filter(mode=mode).count() < 20, "hardly anybody else"
    assert Player.objects.filter(game=game, player_id__startswith="sim-").exclude(country="").count() >= 20
    assert Standing.objects.filter(mode=mode, window="alltime", scope="").count() > 30


def test_whoever_looks_sees_how_far_it_is_and_ctrl_c_ends_it_with_a_summary() -> None:
    make_mode(make_game("arena"), **MODE)
    command = ["simulate", "arena", "solo", "--rate", "20", "--seconds", "600", "--players", "10"]
    env = os.environ | {"DATABASE_URL": database_url(), "VALKEY_URL": settings.VALKEY_URL}
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as running:
        os.close(theirs)
        shown, asked = "", False
        while part := _read(terminal):
            shown += part
            if not asked and re.search(r"\r\d+ of 600 s +\d+ scores[^\r]*\x1b\[K$", shown):
                running.send_signal(signal.SIGINT)
                asked = True
        told, _ = running.communicate()
    os.close(terminal)
    assert (running.returncode, told[:5]) == (0, "Sent "), shown
    assert shown.endswith("\r\x1b[K"), "what nobody needs any more does not stand beside the summary"


def _read(terminal: int) -> str:
    """Empty once there is nobody who could write."""
    try:
        return os.read(terminal, 1000).decode()
    except OSError:
        return ""


def test_what_cannot_be_simulated_is_said_with_what_to_do() -> None:
    game = make_game("arena")
    make_mode(game, **MODE)
    make_mode(game, "off", active=False)
    make_mode(game, "played", submit="token", checks={"replay": {"want": "always", "verifier": "dodge"}})
    for options, sentence in (
        (("nowhere", "solo"), "There are: arena"),
        (("arena", "duo"), "There are: off, played, solo"),
        (("arena", "off"), "is not active"),
        (("arena", "played"), "play_dodge"),
    ):
        with pytest.raises(CommandError, match=sentence):
            _simulated(*options, "--rate", "1", "--seconds", "1")
    for name, wrong in (("rate", "5001"), ("rate", "0"), ("seconds", "86401"), ("players", "9")):
        given = {"rate": "1", "seconds": "1", name: wrong}
        with pytest.raises(CommandError, match=rf"--{name} is 1"):
            _simulated("arena", "solo", *(word for one in given.items() for word in (f"--{one[0]}", one[1])))


@pytest.mark.parametrize(
    "rules",
    [
        MODE,
        {"order": "asc", "decimals": 3, "min_score": 20, "max_score": 600},
        {"order": "asc"},
        {},
        {"aggregation": "sum", "min_score": 0, "max_score": 1000, "max_total": 50_000},
        {"min_score": -50, "max_score": 50, "decimals": 2},
    ],
)
def test_points_become_scores_that_the_mode_takes_and_better_ones_for_more(rules: dict[str, Any]) -> None:
    mode = make_mode(make_game(), **rules)
    scale, sign = scale_of(mode), -1 if mode.order == "asc" else 1
    scores = [float(scale.score(points, {})) for points in (10, 3000, 12_000, 50_000, 1_000_000)]
    assert sorted(scores, key=lambda score: sign * score) == scores
    assert len(set(scores)) == 5
    assert all(rules.get("min_score", -1e9) <= score <= rules.get("max_score", 1e9) for score in scores)


def test_people_learn_sleep_and_are_the_same_for_the_same_seed() -> None:
    def crowd(seed: int) -> Crowd:
        players = [Known(f"p-{n}", "JP" if n % 2 else "US", "") for n in range(400)]
        return Crowd(actors(players, seed=seed), at_once=50, chance=Random(seed), newcomer=lambda: None)  # noqa: S311

    turns = crowd(1).turns(3000, hour=11)  # evening in Japan, early morning in America
    assert [(turn.at, turn.play) for turn in turns] == [(turn.at, turn.play) for turn in crowd(1).turns(3000, hour=11)]
    assert turns != crowd(2).turns(3000, hour=11)
    assert [turn.at for turn in turns] == sorted(turn.at for turn in turns)
    begun = Counter(turn.actor.player.country for turn in turns)
    assert begun["JP"] > 2 * begun["US"]
    learner = max((turn.actor for turn in turns if not turn.actor.kind), key=lambda actor: actor.person.growth)
    runs = [play.score for _ in range(60) for play in learner.sitting()]
    third = len(runs) // 3
    assert sum(runs[-third:]) > sum(runs[:third])
