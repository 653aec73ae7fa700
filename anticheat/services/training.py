"""Trains a mode's model on what its players did. Needs scikit-learn, which `rung` does not install."""

from collections import defaultdict
from datetime import datetime
from statistics import median
from typing import Any

from anticheat import model_store, walk
from anticheat.errors import ModelNotTrained
from anticheat.features import FEATURES, Features
from anticheat.forest import Forest, Tree, expected_length
from anticheat.trail import Trail
from leaderboards import partitions
from leaderboards.models import Mode

TREES = 200
FEWEST = 256  # players, before anything is usual
RARE = 0.005  # share of players that are said to be strange
_SEED = 1


def model_train(*, mode: Mode, since: datetime, until: datetime, now: datetime) -> Forest:
    """The next version, saved. The same log makes the same model."""
    grow = _grower()
    vectors = _vectors(mode, since, until)
    if len(vectors) < FEWEST:
        raise ModelNotTrained(f"{len(vectors)} players have played enough; {FEWEST} are needed.")
    grown = grow(vectors)
    forest = Forest(
        version=max(model_store.versions(mode.pk), default=0) + 1,
        mode=mode.pk,
        trained_at=now.isoformat(),
        players=len(vectors),
        features=list(FEATURES),
        medians=[median(column) for column in zip(*vectors, strict=True)],
        limit=-float(sorted(grown.score_samples(vectors))[int(len(vectors) * RARE)]),
        usual=expected_length(grown.max_samples_),
        trees=[_tree(one.tree_) for one in grown.estimators_],
    )
    model_store.save(forest)
    return forest


def _grower() -> Any:
    try:
        from sklearn.ensemble import IsolationForest  # noqa: PLC0415 - an extra, absent by default
    except ImportError:
        raise ModelNotTrained(
            "Training needs scikit-learn, which is not installed: python -m pip install scikit-learn."
        ) from None
    return IsolationForest(n_estimators=TREES, random_state=_SEED).fit


def _vectors(mode: Mode, since: datetime, until: datetime) -> list[list[float]]:
    trails: defaultdict[int, Trail] = defaultdict(Trail)
    features: defaultdict[int, Features] = defaultdict(Features)
    for day in partitions.days_between(since, until):
        for some in walk.attempts(mode, day, part=0, parts=1):
            for one in some:
                if since <= one.received_at < until:
                    trails[one.player].add(one)
                    features[one.player].add(trails[one.player])
    found = (one.vector(trails[player]) for player, one in sorted(features.items()))
    return [vector for vector in found if vector is not None]


def _tree(grown: Any) -> Tree:
    left, right = grown.children_left.tolist(), grown.children_right.tolist()
    samples, lengths, depths = grown.n_node_samples.tolist(), [0.0] * len(left), [0] * len(left)
    for node in range(len(left)):  # parents come before their children
        if left[node] < 0:
            lengths[node] = depths[node] + expected_length(samples[node])
        else:
            depths[left[node]] = depths[right[node]] = depths[node] + 1
    return Tree(grown.feature.tolist(), grown.threshold.tolist(), left, right, lengths)
