"""What goes out about one player: all its boards."""

from config.wire import Instant, Outgoing
from leaderboards.wire import ScoreOut


class RankState(Outgoing):
    """Where a player stands on one board."""

    game: str
    mode: str
    title: str  # the mode's
    window: str
    window_id: str
    scope: str
    rank: int
    score: ScoreOut
    achieved_at: Instant | None
    total: int
    percentile: float
    top_percent: float
    version: int
    resets_at: Instant | None


class RanksState(Outgoing):
    """Mode by mode, longest windows first, in each the global board before the others."""

    player_id: str
    ranks: list[RankState]
