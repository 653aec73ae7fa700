"""Precision and recall: whom the checks caught, beside who really cheated. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

CAUGHT = 0.5  # the combined risk from which on a player counts as caught
Risks = Mapping[int, float]  # by player


@dataclass(frozen=True, slots=True)
class Score:
    """Of players: how many of those caught cheated, and how many of those who cheated were caught."""

    caught: int
    right: int
    cheaters: int

    @property
    def precision(self) -> float:
        return self.right / self.caught if self.caught else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.cheaters if self.cheaters else 1.0


@dataclass(frozen=True, slots=True)
class Scores:
    everything: Score
    checks: dict[str, Score]
    kinds: dict[str, Score]  # of each kind of cheater: the recall of all checks together
    by_kind: dict[str, dict[str, int]]  # check, kind: caught


def score(labels: Mapping[int, str], checks: Mapping[str, Risks], everything: Risks) -> Scores:
    caught = _caught(everything)
    of_check = {name: _caught(risks) for name, risks in sorted(checks.items())}
    kinds = {kind: {player for player, one in labels.items() if one == kind} for kind in sorted(set(labels.values()))}
    return Scores(
        everything=_score(caught, set(labels)),
        checks={name: _score(some, set(labels)) for name, some in of_check.items()},
        kinds={kind: _score(caught & players, players) for kind, players in kinds.items()},
        by_kind={
            name: {kind: len(some & players) for kind, players in kinds.items()} for name, some in of_check.items()
        },
    )


def _caught(risks: Risks) -> set[int]:
    return {player for player, risk in risks.items() if risk >= CAUGHT}


def _score(caught: set[int], cheaters: set[int]) -> Score:
    return Score(len(caught), len(caught & cheaters), len(cheaters))


def table(scores: Scores) -> str:
    """For people, and for a document: Markdown."""
    kinds = list(scores.kinds)
    lines = [_row("check", *kinds, "honest", "precision", "recall"), _row(*["---"] * (len(kinds) + 4))]
    for name, one in scores.checks.items():
        told = [f"{scores.by_kind[name][kind]:,}" for kind in kinds]
        lines.append(_row(name, *told, f"{one.caught - one.right:,}", _precision(one), f"{one.recall:.3f}"))
    all_ = scores.everything
    told = [f"{one.right:,} of {one.cheaters:,}" for one in scores.kinds.values()]
    honest = f"{all_.caught - all_.right:,}"
    lines.append(_row("**all together**", *told, honest, f"**{all_.precision:.3f}**", f"**{all_.recall:.3f}**"))
    lines.append(_row("recall", *(f"{one.recall:.3f}" for one in scores.kinds.values()), "", "", ""))
    return "\n".join(lines)


def _precision(one: Score) -> str:
    """Of a check that caught nobody by itself there is none."""
    return f"{one.precision:.3f}" if one.caught else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
