"""The benchmark runs from nothing, and says what it promises to say. How fast anything is, is not tested."""

import json
import os
import subprocess
import sys

import pytest

from bench import mix, rounds
from config.embedded.home import PROJECT_ROOT

NUMBERS = (
    "floor_pg floor_valkey floor_both hello hello_top_bytes batch_scores batch_scores_shown single_writes"
    " single_writes_64 single_writes_256 rank_reads around_reads around_reads_cold top100_reads drf_rank_reads"
    " apply_lag_p99_ms bytes_per_player rebuild_players_per_s ws_fanout_p50_ms ws_fanout_p99_ms"
    " ws_fanout_p99_ms_with_stalled"
).split()
MAY_BE_NOUGHT = "backlog_gone_s ws_cpu_at_100 ws_cpu_at_1000 ws_bytes_per_socket".split()
RATIOS = (
    "batch_scores/floor_both rank_reads/hello around_reads/hello around_reads_cold/hello top100_reads/hello_top_bytes"
    " single_writes_64/hello single_writes_256/hello"
).split()
REQUESTS = "hello rank_reads around_reads top100_reads drf_rank_reads single_writes_64 single_writes_256".split()
QUANTILES = [f"{name}_{quantile}" for name in REQUESTS for quantile in ("p50_ms", "p95_ms", "p99_ms")]


@pytest.mark.slow
def test_the_last_line_of_a_bench_is_all_its_numbers() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "bench", "--tiny", "--players", "1000"],
        cwd=PROJECT_ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith(("RUNG_", "DJANGO_"))},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in (*NUMBERS, *RATIOS, *QUANTILES) if not found.get(name, 0) > 0] == []
    assert min(found[name] for name in MAY_BE_NOUGHT) >= 0
    assert 0 <= found["ws_stalled_dropped"] <= 2  # both, on a machine that is not busy
    assert (found["players"], found["failures"]) == (1000, 0)


def test_a_mix_is_the_same_for_the_floors_and_for_the_product() -> None:
    drawn = list(mix.draws(5000, 20_000, 1000))

    assert drawn[:1000] == list(mix.draws(5000, 1000, 1000))
    records = [one for one in drawn if one.improves == mix.WINDOWS]
    todays = [one for one in drawn if one.improves == ("daily",)]
    assert 0.09 < len(records) / len(drawn) < 0.11
    assert 0.28 < len(todays) / len(drawn) < 0.32
    assert all(one.score > mix.best(one.number) for one in records)
    assert all(mix.best(one.number) - mix.SPREAD < one.score < mix.best(one.number) for one in todays)
    others = [one for one in drawn if not one.improves]
    assert all(one.score < mix.best(one.number) - mix.SPREAD for one in others)
    assert {one.number for one in drawn} <= set(range(1, 1001))


def test_of_a_batch_a_player_changes_once_in_a_window() -> None:
    seen: dict[tuple[int, str], int] = {}
    newcomer = mix.Draw(serial=1, number=mix.NEWCOMERS, score=5, improves=())
    regular = mix.Draw(serial=2, number=mix.NEWCOMERS + 1, score=5, improves=())
    record = mix.Draw(serial=3, number=mix.NEWCOMERS + 1, score=7, improves=mix.WINDOWS)

    first = mix.changes([newcomer, regular], players=1000, seen=seen)
    assert first == {(mix.NEWCOMERS, window): newcomer for window in mix.WINDOWS}
    assert mix.changes([newcomer, regular], players=1000, seen=seen) == {}
    twice = mix.changes([record, record._replace(serial=4)], players=1000, seen=seen)
    assert {one.serial for one in twice.values()} == {4}


def test_a_commit_is_lower_only_by_more_than_the_control_differs_and_five_percent() -> None:
    def is_lower(new: float, control: float) -> bool:
        values = {"old": [0.9, 1.0, 1.1], "new": [new, new, 9.0], "control": [control, control, 9.0]}
        (told,) = rounds.verdicts({"rank_reads/hello": values})
        return told.is_lower

    assert [is_lower(0.96, 1.0), is_lower(0.94, 1.0)] == [False, True]
    assert [is_lower(0.86, 0.9), is_lower(0.84, 1.1)] == [False, True]
    assert not is_lower(2.0, 1.0)
