"""`apply_config`: a file says what there should be; twice changes nothing, and so does a mistake anywhere in it."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from leaderboards.models import Mode
from leaderboards.rules.mode import Bounds
from players.models import Game
from tests.client import ApiClient
from tests.live import ROOT

pytestmark = pytest.mark.django_db

# the example of the contract, word for word
EXAMPLE = """
[games.arena]
title = "Arena"
public = true                 # false: reading needs a key or a token
[games.arena.modes.solo]
title = "Solo"
description = ""
active = true                 # false: readable, not writable
aggregation = "best"          # best | sum | latest
order = "desc"                # desc: higher is better | asc: lower is better (lap times)
decimals = 0                  # 0-6; scores are exact decimals, not floats
min_score = 0                 # bounds of one submission; both, or neither
max_score = 1000000           # (no default: without bounds, ties of equal scores go by player)
max_total = 1000000000        # sum only: bound of the total, for the same purpose (no default)
bounds = { "level:7" = { max_score = 5000 } }      # tighter bounds for one value of a dimension (no default)
windows = ["daily", "weekly", "monthly", "alltime"]
timezone = "UTC"              # where its days begin (IANA name)
grace_seconds = 3600          # how late a score may still count in the window it was achieved in
tie_break = "earliest"        # earliest | latest | none; the last tie is the player, earlier registered first
ranking = "unique"            # unique 1,2,3 | competition 1,1,3 | dense 1,1,2 (one shard)
dimensions = ["region", "country"]                 # of these, region and country come from the player, others from the submission
dimension_values = 1000       # most values a submitted dimension may take
values = { level = ["1", "2"] }  # declared values (no default); others are invalid_request
new_values = "keys"           # who may bring values that are not declared: keys | anyone; without room a score counts without that scope (`"scopes_left_out"` in the answer)
submit = "trusted"            # trusted: API key | token: player with a signed attempt token | open: player token alone
"""  # noqa: E501 - as it stands there
LAPS = """
[games.arena]
[games.arena.modes.lap]
order = "asc"
decimals = 3
min_score = 0.1
max_score = 600.250
"""
Apply = Callable[..., tuple[str, str]]


@pytest.fixture
def apply(tmp_path: Path) -> Apply:
    """Applies the text of a file: what was said on standard output, and on standard error."""

    def run(text: str, *options: str) -> tuple[str, str]:
        file = tmp_path / "games.toml"
        file.write_text(text, encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        call_command("apply_config", str(file), *options, stdout=out, stderr=err)
        return out.getvalue(), err.getvalue()

    return run


def test_the_example_of_the_contract_twice_is_no_change(apply: Apply, api: ApiClient) -> None:
    said, _ = apply(EXAMPLE)
    assert said == "created   game arena\ncreated   mode arena/solo\n2 of 2 changed.\n"
    state = api.get("/v1/games/arena/modes/solo").json()
    assert (state["title"], state["max_score"], state["max_total"]) == ("Solo", 1_000_000, 1_000_000_000)
    assert state["bounds"] == {"level:7": {"min_score": None, "max_score": 5000}}
    said, _ = apply(EXAMPLE)
    assert said == "unchanged game arena\nunchanged mode arena/solo\nNo change.\n"


def test_a_dry_run_says_what_would_happen_and_does_nothing(apply: Apply) -> None:
    said, _ = apply(EXAMPLE, "--dry-run")
    assert said == "created   game arena\ncreated   mode arena/solo\n2 of 2 would change.\n"
    assert not Game.objects.exists()
    apply(EXAMPLE)
    changed = EXAMPLE.replace('title = "Solo"', 'title = "Alone"')
    said, _ = apply(changed + '\n[games.arena.modes.duo]\ntitle = "Duo"\n', "--dry-run")
    assert "unchanged game arena\nchanged   mode arena/solo\n" in said
    assert 'title: "Solo" → "Alone"' in said
    assert "created   mode arena/duo" in said
    assert [mode.title for mode in Mode.objects.all()] == ["Solo"]
    assert apply(EXAMPLE, "--dry-run")[0].endswith("No change.\n")


def test_decimals_of_a_file_are_exact_and_changes_are_told_in_the_modes_own_numbers(apply: Apply) -> None:
    apply(LAPS)
    mode = Mode.objects.get()
    assert (mode.min_score, mode.max_score) == (100, 600_250)
    said, _ = apply(LAPS.replace("600.250", "700.5"))
    assert "max_score: 600.250 → 700.500" in said
    said, _ = apply(LAPS.replace("decimals = 3", "decimals = 4"))
    assert "max_score: 700.500 → 600.2500" in said


def test_a_mistake_in_one_mode_changes_nothing_at_all(apply: Apply) -> None:
    apply(EXAMPLE)
    broken = EXAMPLE.replace('title = "Arena"', 'title = "Changed"') + "\n[games.other.modes.x]\nmin_score = 1\n"
    with pytest.raises(CommandError, match=r"^Nothing was changed\. games\.other\.modes\.x: max_score: Give both"):
        apply(broken)
    assert [game.title for game in Game.objects.all()] == ["Arena"]


def test_a_locked_rule_is_refused_with_its_name(apply: Apply) -> None:
    apply(EXAMPLE)
    Mode.objects.update(first_score_at=timezone.now())
    with pytest.raises(CommandError, match=r"games\.arena\.modes\.solo: order cannot change once scores exist"):
        apply(EXAMPLE.replace('order = "desc"', 'order = "asc"'))
    assert apply(EXAMPLE)[0].endswith("No change.\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[games.arena.modes.solo]\nordre = 'asc'", r"games\.arena\.modes\.solo: ordre: .*unknown field `ordre`"),
        ("[games.arena]\npubic = true", r"unknown field `pubic`"),
        ("[gmaes.arena]", r"unknown field `gmaes`|missing required field `games`"),
        ("", r"missing required field `games`"),
        ("[games.arena.modes.solo]\ndecimals = 'two'", r"games\.arena\.modes\.solo: decimals: Expected `int`"),
        ("[games.arena.modes.solo]\nmin_score = true", r"games\.arena\.modes\.solo: min_score: Expected"),
        ("[games.arena.modes.solo]\nwindows = 'daily'", r"games\.arena\.modes\.solo: windows: Expected `array`"),
        ("[games.arena.modes.solo]\nmax_score = nan\nmin_score = 0", r"max_score: A score is a finite number"),
        ("[games.arena.modes.solo]\ntimezone = 'Mars'", r"timezone: There is no timezone 'Mars'"),
        ("[games.arena]\nmodes = 5", r"Expected `object`, got `int`"),
        ("games = 5", r"Expected `object`, got `int`"),
        ("[games.Arena]", r"'Arena' cannot name a game"),
        ("[games.arena.modes.'so lo']", r"'so lo' cannot name a mode"),
        ("[games.arena.modes.players]", r"games\.arena\.modes\.players: 'players' cannot name a mode: that address"),
        ('[games.arena]\ntitle = "a\\u0000b"', r"U\+0000 is not allowed"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_says_where(apply: Apply, text: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        apply(text)
    assert str(refused.value).startswith("Nothing was changed. ")
    assert "\n" not in str(refused.value)
    assert not Game.objects.exists()


def test_warnings_go_to_standard_error(apply: Apply) -> None:
    _, unbounded = apply("[games.arena.modes.solo]")
    assert unbounded.startswith("warning   mode arena/solo: Without min_score and max_score, equal scores")
    _, wide = apply("[games.arena.modes.solo]\nmin_score = -9007199254740992\nmax_score = 9007199254740992")
    assert "no bits are left for ties" in wide
    _, fine = apply("[games.arena.modes.solo]\nmin_score = 0\nmax_score = 1000")
    assert fine == ""


def test_a_games_privacy_can_be_changed_by_the_file(apply: Apply, api: ApiClient) -> None:
    apply("[games.arena]")
    assert api.get("/v1/games/arena").status_code == 200
    said, _ = apply("[games.arena]\npublic = false")
    assert "public: true → false" in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "cannot be read: "), (b"\xff\xfe", "cannot be read: "), (b"[games", "is not TOML: ")],
)
def test_a_file_that_is_none_is_one_sentence(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "games.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError) as refused:
        call_command("apply_config", str(file))
    assert str(refused.value).startswith(f"{file} {sentence}")
    with pytest.raises(CommandError, match="cannot be read: "):
        call_command("apply_config", str(tmp_path))


def test_a_refusal_is_exit_code_1_and_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text("[games.arena.modes.solo]\nordre = 1")
    command = [sys.executable, "manage.py", "apply_config", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("CommandError: Nothing was changed. games.arena.modes.solo: ordre: ")
    assert len(done.stderr.splitlines()) == 1


def test_bounds_are_kept_scaled(apply: Apply) -> None:
    bounds = 'bounds = { "level:7" = { min_score = 1.5 } }\ndimensions = ["level"]'
    apply(LAPS + bounds)
    assert Mode.objects.get().rules.bounds == {"level:7": Bounds(low=1500)}


LIMITS = """
[games.arena.limits]
player = { read = { per_second = 50, burst = 100 } }
address = { read = { per_second = 0 } }
"""


def test_limits_are_fields_of_a_game_and_what_is_left_out_is_the_default_again(apply: Apply) -> None:
    out, _ = apply(LIMITS)
    assert "created   game arena" in out
    stored = {"player": {"read": {"per_second": 50, "burst": 100}}, "address": {"read": {"per_second": 0}}}
    assert Game.objects.get(slug="arena").limits == stored
    assert apply(LIMITS)[0] == "unchanged game arena\nNo change.\n"
    assert "limits" in apply("[games.arena]\n")[0]
    assert Game.objects.get(slug="arena").limits == {}


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ("key = { read = { per_second = 1, burst = 1 } }", "limits.key"),
        ("player = { write = { per_second = 1, burst = 1 } }", "limits.player.write"),
        ("address = { social = { per_second = 1, burst = 1 } }", "limits.address.social"),
        ("player = { read = { per_second = -1, burst = 1 } }", "limits.player.read.per_second"),
        ("player = { read = { per_second = 1e9, burst = 1 } }", "limits.player.read.per_second"),
        ("player = { read = { per_second = 1e-9, burst = 1 } }", "limits.player.read.per_second"),
        ("player = { read = { per_second = nan, burst = 1 } }", "limits.player.read.per_second"),
        ("player = { read = { per_second = 1, burst = 0 } }", "limits.player.read.burst"),
        ("player = { read = { per_second = 1, burst = 1, more = 1 } }", "limits.player.read.more"),
        ("player = 5", "limits.player"),
    ],
)
def test_limits_that_there_are_not_are_refused_by_name(apply: Apply, limits: str, field: str) -> None:
    with pytest.raises(CommandError, match=f"games.arena.*{field}"):
        apply(f"[games.arena.limits]\n{limits}\n")
    assert not Game.objects.exists()
