"""The model: plain numbers that are asked without scikit-learn, and grown with it where it is installed."""

import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from anticheat import model_store
from anticheat.checks.model import Model
from anticheat.evaluation.evaluating import season_mode
from anticheat.evaluation.loading import BEGINS, ENDS, season_load
from anticheat.features import FEATURES, Features
from anticheat.forest import Forest, Tree, expected_length
from anticheat.models import Finding
from anticheat.season.season import SEED, labels
from anticheat.services import training
from anticheat.services.rejudging import mode_rejudge
from anticheat.services.training import model_train
from anticheat.trail import Trail
from tests.anticheat.test_habits import attempt

try:
    import sklearn
except ImportError:
    sklearn = None
grown = pytest.mark.skipif(
    sklearn is None, reason="THE MODEL WAS NOT TRAINED: scikit-learn is not installed (extra `model`)"
)

LEAVES = Tree([0, -1, -1], [5.0, 0, 0], [1, -1, -1], [2, -1, -1], [0.0, 6.0, 1.0])  # more than five is strange


@pytest.fixture(autouse=True)
def _models_of_ones_own(settings: Settings, tmp_path: Path) -> None:
    backend = "django.core.files.storage.FileSystemStorage"
    settings.STORAGES = settings.STORAGES | {"models": {"BACKEND": backend, "OPTIONS": {"location": tmp_path}}}


def forest(**fields: object) -> Forest:
    told = {"version": 1, "mode": 1, "trained_at": "2026-11-01", "players": 300, "features": list(FEATURES)}
    told |= {"medians": [1.0] * len(FEATURES), "limit": 0.6, "usual": 6.0, "trees": [LEAVES]}
    return Forest(**(told | fields))  # type: ignore[arg-type]


def vector(first: float) -> list[float]:
    return [first, *[1.0] * (len(FEATURES) - 1)]


def test_the_shorter_the_way_the_stranger_and_the_reason_is_named() -> None:
    model = forest()
    assert model.strangeness(vector(1)) == pytest.approx(0.5)
    assert model.strangeness(vector(9)) == pytest.approx(2 ** (-1 / 6))
    assert [name for name, _ in model.reasons(vector(9))] == [FEATURES[0]]
    assert model.reasons(vector(1)) == []


def test_the_expected_way_is_that_of_a_random_tree() -> None:
    """Two leaves are one step away; of 256 the literature says 10.24."""
    assert [expected_length(one) for one in (0, 1, 2)] == [0.0, 0.0, 1.0]
    assert expected_length(256) == pytest.approx(10.2448, abs=1e-4)


def test_the_last_version_of_a_mode_is_used_and_one_of_other_features_is_not() -> None:
    assert model_store.latest(1) is None
    for version in (1, 2, 10):
        model_store.save(forest(version=version))
    model_store.save(forest(mode=2, version=3))
    found = model_store.latest(1)
    assert found == forest(version=10)
    assert model_store.versions(1) == [1, 2, 10]
    model_store.save(forest(version=11, features=["shoe_size"], medians=[40.0]))
    assert model_store.latest(1) is None


def test_features_are_what_they_are_called() -> None:
    features, trail = Features(), Trail()
    for number in range(20):
        session, device = f"s{number // 10}", "phone" if number < 15 else "new"
        trail.add(
            attempt(number * 100 + number // 10 * 86_400, 1000 * (1 + number % 2), session=session, device=device)
        )
        features.add(trail)
    told = dict(zip(FEATURES, features.vector(trail) or [], strict=True))
    assert (told["attempts_a_session"], told["attempts_a_day"], told["devices"], told["swaps"]) == (10, 10, 2, 0)
    assert told["pauses_vary"] == pytest.approx(0)
    assert told["improving"] == pytest.approx(0.1)
    assert told["best_over_usual"] == pytest.approx(0.3466, abs=1e-3)
    assert abs(told["slope"]) < 0.1
    assert told["hours_a_day"] == 1
    few = Features()
    few.add(trail)
    assert few.vector(trail) is None


@pytest.mark.django_db
def test_without_scikit_learn_training_says_so_and_checks_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    mode = season_mode()
    with pytest.raises(CommandError, match="needs scikit-learn, which is not installed: python -m pip install"):
        call_command("train_model", "--mode=run", f"--game={mode.game.slug}")
    assert Model(mode).forest is None


@pytest.mark.django_db
def test_a_model_speaks_of_players_when_the_log_is_judged_anew_once_each() -> None:
    mode = season_mode()
    loaded = season_load(mode=mode, seed=SEED, players=300)
    column = FEATURES.index("attempts_a_day")
    busy = Tree([column, -1, -1], [100.0, 0, 0], [1, -1, -1], [2, -1, -1], [0.0, 6.0, 1.0])
    model_store.save(forest(mode=mode.pk, trees=[busy]))
    for _ in range(2):
        mode_rejudge(mode=mode, since=BEGINS, until=ENDS)
        found = list(Finding.objects.filter(check_name="model").select_related("case"))
        kinds = labels(SEED, 300)
        assert {kinds.get(loaded.players[one.case.player_id]) for one in found} == {"bot"}
        assert found[0].reason == "Plays unlike others (0.89; 0.60 is rare), mostly by attempts a day."
    mode.checks = mode.checks | {"model": {"on": False}}
    assert Model(mode).forest is None


@grown
@pytest.mark.django_db
@pytest.mark.slow
def test_a_forest_grown_from_the_log_is_asked_as_scikit_learn_would() -> None:
    mode = season_mode()
    season_load(mode=mode, seed=SEED, players=1500)
    out = StringIO()
    call_command(
        "train_model", "--mode=run", f"--game={mode.game.slug}", "--since=2026-10-01", "--until=2026-10-31", stdout=out
    )
    assert "Version 1, trained on" in out.getvalue()
    vectors = training._vectors(mode, BEGINS, ENDS)  # noqa: SLF001 - what it was grown from
    theirs = training._grower()(vectors).score_samples(vectors)  # noqa: SLF001
    made = model_store.latest(mode.pk)
    assert made is not None
    for index in range(0, len(vectors), 7):
        assert made.strangeness(vectors[index]) == pytest.approx(-theirs[index], abs=2e-3)
    again = model_train(mode=mode, since=BEGINS, until=ENDS, now=datetime(2026, 11, 1, tzinfo=UTC))
    assert (again.version, again.trees) == (2, made.trees)


@grown
@pytest.mark.django_db
def test_too_few_players_make_no_model() -> None:
    mode = season_mode()
    season_load(mode=mode, seed=SEED, players=100)
    with pytest.raises(CommandError, match="256 are needed"):
        call_command(
            "train_model", "--mode=run", f"--game={mode.game.slug}", "--since=2026-10-01", "--until=2026-10-31"
        )
