"""What a board means, in a few dozen lines: attempts in, ranks out. Whatever the product does must come to this."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboards.models import Mode


@dataclass(slots=True)
class Attempt:
    """As the model knows it."""

    player: int
    score: int
    at: datetime
    level: str
    id: int = 0
    counts: bool = True
    left_out: bool = False  # its level: it was new, and there was no room for it


def ranked(mode: Mode, attempts: Sequence[Attempt]) -> list[tuple[int, int, int]]:
    """(rank, player, score) of those who have attempts here, in order."""
    listed = _entries(mode, attempts)
    ordered = [key for key, _, _ in listed]
    ranks = {
        "unique": list(range(1, len(listed) + 1)),
        "competition": [1 + ordered.index(key) for key in ordered],
        "dense": [1 + sorted(set(ordered)).index(key) for key in ordered],
    }[mode.ranking]
    return [(rank, player, score) for rank, (_, player, score) in zip(ranks, listed, strict=True)]


def _entries(mode: Mode, attempts: Sequence[Attempt]) -> list[tuple[int, int, int]]:
    """(key, player, score), in order: the less the key the better, then the time, then the older player."""
    sign = 1 if mode.order == "desc" else -1
    prefer = {"earliest": -1, "latest": 1, "none": 0}[mode.tie_break]
    found = []
    for player in {one.player for one in attempts}:
        own = [one for one in attempts if one.player == player]
        if mode.aggregation == "sum":
            score, at = sum(one.score for one in own), max(one.at for one in own)
        elif mode.aggregation == "latest":
            last = max(own, key=lambda one: (one.at, one.id))
            score, at = last.score, last.at
        else:
            best = max(own, key=lambda one: (sign * one.score, prefer * one.at.timestamp()))
            score, at = best.score, best.at
        found.append((-sign * score, -prefer * at.timestamp(), player, score))
    return [(key, player, score) for key, _, player, score in sorted(found)]
