"""An isolation forest as plain numbers: grown by scikit-learn, asked without it. How strange something is, and why.

Kept as JSON: a file that is read back can say wrong numbers, and can do nothing.
"""

from collections.abc import Sequence
from math import log

from msgspec import Struct

_EULER = 0.5772156649015329


class Tree(Struct, frozen=True):
    """By node: the feature that decides, up to where one goes left, and where that is; -1: a leaf."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    lengths: list[float]  # of the way to each leaf, and on through those it would have had

    def length(self, vector: Sequence[float]) -> float:
        node = 0
        while self.left[node] >= 0:
            node = self.left[node] if vector[self.feature[node]] <= self.threshold[node] else self.right[node]
        return self.lengths[node]


class Forest(Struct, frozen=True):
    """`version` of its mode, when it was trained, on how many players, and what they are like."""

    version: int
    mode: int
    trained_at: str
    players: int
    features: list[str]
    medians: list[float]
    limit: float  # what is stranger is said
    usual: float  # length of a way that is not strange at all
    trees: list[Tree]

    def strangeness(self, vector: Sequence[float]) -> float:
        """0 to 1; a half and less is ordinary. The shorter the way to it, the stranger."""
        lengths = [tree.length(vector) for tree in self.trees]
        return float(2 ** (-sum(lengths) / len(lengths) / self.usual))

    def reasons(self, vector: Sequence[float], most: int = 3) -> list[tuple[str, float]]:
        """The features that make it strange: by how much less it would be, were each as it is with most."""
        whole = self.strangeness(vector)
        found = []
        for index, name in enumerate(self.features):
            ordinary = [*vector[:index], self.medians[index], *vector[index + 1 :]]
            found.append((name, whole - self.strangeness(ordinary)))
        return sorted((one for one in found if one[1] > 0), key=lambda one: -one[1])[:most]


def expected_length(samples: int) -> float:
    """Of the way to one of so many in a tree that divides them at random."""
    if samples <= 1:
        return 0.0
    return 2 * (log(samples - 1) + _EULER) - 2 * (samples - 1) / samples if samples > 2 else 1.0  # noqa: PLR2004
