"""Where the signed-in player stands: the place, what comes next, or why there is none."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from config.errors import DomainError
from leaderboards.board_states import Asked, standing_states
from leaderboards.boards.board import Board
from leaderboards.pages import numbers
from leaderboards.pages.rows import Row, ranks_before, rows_of
from leaderboards.wire_scores import EntryState, PendingState, StandingState
from players.models import Ban
from players.profiles import Profile, profiles_named
from players.selectors import bans_told

NEIGHBOURS = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """The next one to pass, and how far away; or for who leads, the one behind."""

    kind: str  # "pass" | "level" | "lead" | "alone"
    gap: str = ""
    rank: str = ""
    name: str = ""
    one: bool = False  # a gap of exactly 1


@dataclass(frozen=True, slots=True)
class You:
    player_id: str
    name: str
    row: Row | None  # None: not listed
    rows: list[Row]  # with the neighbours
    top_percent: str
    percentile: str
    goal: Goal | None
    pending: list[str]
    bans: list[Ban]
    raw_score: Decimal | int | None

    @property
    def rank(self) -> int | None:
        return self.row.rank if self.row else None


def you_on(board: Board, player_id: str | None, *, now: datetime) -> You | None:
    if player_id is None:
        return None
    profile = profiles_named([(board.mode.game_id, player_id)]).get((board.mode.game_id, player_id))
    if profile is None:  # signed in before its first score, or erased since
        return You(player_id, player_id, None, [], "", "", None, [], [], None)
    (told,) = standing_states([Asked(board, player_id, NEIGHBOURS, waiting=True)])
    if isinstance(told, DomainError):
        raise told
    return _you(board, profile, told, now)


def _you(board: Board, profile: Profile, told: StandingState, now: datetime) -> You:
    own = _own_entry(profile, told)
    entries = [*told.above, own, *told.below] if told.rank else []
    before = ranks_before(board, [one.player_id for one in entries], at=now)
    rows = rows_of(board, entries, before=before, mine=profile.player_id, now=now)
    return You(
        player_id=profile.player_id,
        name=profile.display_name,
        row=next((row for row in rows if row.mine), None),
        rows=rows,
        top_percent=numbers.percent(told.top_percent, up=True) if told.top_percent is not None else "",
        percentile=numbers.percent(told.percentile) if told.percentile is not None else "",
        goal=goal(board, told) if told.rank else None,
        pending=[_pending(board, one) for one in told.pending],
        bans=[] if told.rank else bans_told(player=profile.pk, mode=board.mode.pk, at=now),
        raw_score=told.score,
    )


def _own_entry(profile: Profile, told: StandingState) -> EntryState:
    return EntryState(
        rank=told.rank,
        player_id=profile.player_id,
        display_name=profile.display_name,
        country=profile.country,
        avatar_url=profile.avatar_url,
        score=told.score,
        achieved_at=told.achieved_at,
    )


def _pending(board: Board, one: PendingState) -> str:
    return numbers.score_text(one.score, board.rules.decimals)


def goal(board: Board, told: StandingState) -> Goal:
    assert told.score is not None  # noqa: S101 - who has a rank has a score
    better = next((one for one in reversed(told.above) if one.score != told.score), None)
    if better is not None:
        return _apart(board, "pass", better, told.score)
    if told.above:
        return _apart(board, "level", told.above[-1], told.score)
    return _apart(board, "lead", told.below[0], told.score) if told.below else Goal("alone")


def _apart(board: Board, kind: str, other: EntryState, own: Decimal | int) -> Goal:
    gap = abs(Decimal(other.score or 0) - own)
    return Goal(
        kind=kind,
        gap=numbers.score_text(gap, board.rules.decimals),
        rank=numbers.whole(other.rank or 0),
        name=other.display_name,
        one=gap == 1,
    )
