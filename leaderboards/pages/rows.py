"""Rows of a board as a page shows them, and how far each has moved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from config import avatars
from config.errors import DomainError
from leaderboards.board_states import lookup_state
from leaderboards.boards.board import Board, board_named
from leaderboards.pages import numbers, times, words
from leaderboards.rules.windows import Kind, timezone_named, window_at
from leaderboards.wire_scores import EntryState

_INSTANT = timedelta(microseconds=1)
Ranks = Mapping[str, int]  # by player_id, on the window before


@dataclass(frozen=True, slots=True)
class Movement:
    """`delta` > 0: climbed; None: not known, and `said` tells why."""

    delta: int | None
    said: str
    was: int | None = None

    @property
    def way(self) -> str:
        return "none" if self.delta is None else "up" if self.delta > 0 else "down" if self.delta < 0 else "same"

    @property
    def steps(self) -> str:
        return numbers.whole(abs(self.delta or 0))


@dataclass(frozen=True, slots=True)
class Row:
    rank: int | None
    rank_text: str
    player_id: str
    name: str
    initial: str
    country: str
    flag: str
    avatar: str
    score: str
    at: datetime | None
    ago: str
    movement: Movement
    mine: bool


def rows_of(
    board: Board, entries: Iterable[EntryState], *, before: Ranks | None, mine: str | None, now: datetime
) -> list[Row]:
    """`before`: None where nothing is known of it."""
    period = words.since(board.window, now=now)
    return [
        Row(
            rank=one.rank,
            rank_text=numbers.whole(one.rank) if one.rank else "–",
            player_id=one.player_id,
            name=one.display_name,
            initial=one.display_name[:1].upper(),
            country=one.country or "",
            flag=words.flag_of(one.country),
            avatar=avatars.shown(one.avatar_url),
            score="" if one.score is None else numbers.score_text(one.score, board.rules.decimals),
            at=one.achieved_at,
            ago=times.ago(one.achieved_at, now=now) if one.achieved_at else "",
            movement=movement(one.rank, one.player_id, before, period),
            mine=one.player_id == mine,
        )
        for one in entries
    ]


def movement(rank: int | None, player_id: str, before: Ranks | None, period: str) -> Movement:
    if before is None:
        return Movement(None, _("No movement to show: there is no earlier board to compare with."))
    was = before.get(player_id)
    if was is None or rank is None:
        return Movement(None, _("New here: not on the board before."))
    said = {"period": period, "steps": numbers.whole(abs(was - rank))}
    if was > rank:
        return Movement(was - rank, _("Up %(steps)s %(period)s") % said, was)
    if was < rank:
        return Movement(was - rank, _("Down %(steps)s %(period)s") % said, was)
    return Movement(0, _("Unchanged %(period)s") % said, was)


def ranks_before(board: Board, player_ids: Sequence[str], *, at: datetime) -> Ranks | None:
    """Where these players stood when the window before ended; its board lives on for some days."""
    if board.window.kind is Kind.ALLTIME or board.window.starts_at is None or not player_ids:
        return None
    zone = timezone_named(board.mode.timezone)
    earlier = window_at(board.window.kind, board.window.starts_at - _INSTANT, zone)
    try:
        past = board_named(mode=board.mode, window=earlier.id, scope=board.scope, at=at)
        found = lookup_state(replace(past, viewer=board.viewer), player_ids=list(dict.fromkeys(player_ids)))
    except DomainError:  # too old, or the boards do not answer: a page without arrows is still the page
        return None
    return {one.player_id: one.rank for one in found.entries if one.rank is not None}
