"""Boards with names: what a reader sees. Hydrated with one query, however long the page."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from leaderboards import ranking
from leaderboards.ranking import Board, Entry
from leaderboards.rules import encoding
from leaderboards.wire_scores import BoardState, EntryState, StandingState
from players.models import Player


def board_state(board: Board, *, offset: int, limit: int) -> BoardState:
    mode = board.mode
    page = ranking.page(board, offset=offset, limit=limit)
    return BoardState(
        game=mode.game.slug,
        mode=mode.slug,
        window=board.window.kind.value,
        window_id=board.window.id,
        scope=board.scope,
        aggregation=mode.rules.aggregation,
        order=mode.rules.order,
        ranking=mode.rules.ranking,
        tie_resolution_ms=mode.rules.tie_resolution_ms(board.window.kind),
        state="live",
        stale=False,
        version=page.version,
        starts_at=board.window.starts_at,
        resets_at=board.window.ends_at,
        total=page.total,
        updated_at=page.updated_at,
        entries=_entries(board, page.entries),
        next_cursor=None,
        prev_cursor=None,
    )


def standing_state(board: Board, *, player: Player, neighbors: int) -> StandingState:
    mode = board.mode
    found, above, below = ranking.standing(board, player.pk, neighbours=neighbors)
    own = found.entries[0] if found.entries else None
    return StandingState(
        player_id=player.player_id or "",
        rank=own.rank if own else None,
        score=encoding.unscale(own.score, mode.decimals) if own else None,
        achieved_at=own.achieved_at if own else None,
        total=found.total,
        percentile=_percentile(own.rank, found.total) if own else None,
        top_percent=_top_percent(own.rank, found.total) if own else None,
        version=found.version,
        rank_change=None,
        pending=[],
        above=_entries(board, above),
        below=_entries(board, below),
    )


def _percentile(rank: int, total: int) -> float:
    """How many percent stand here or below, rounded down."""
    exact = 100 * (1 - Decimal(rank - 1) / Decimal(total))
    return float(exact.quantize(Decimal("0.01"), ROUND_DOWN))


def _top_percent(rank: int, total: int) -> float:
    return float((100 * Decimal(rank) / Decimal(total)).quantize(Decimal("0.0001"), ROUND_UP))


def _entries(board: Board, entries: Iterable[Entry]) -> list[EntryState]:
    listed = list(entries)
    players = Player.objects.in_bulk([entry.player for entry in listed])
    return [
        EntryState(
            rank=entry.rank,
            player_id=players[entry.player].player_id or "",
            display_name=players[entry.player].display_name,
            country=players[entry.player].country or None,
            avatar_url=players[entry.player].avatar_url or None,
            score=encoding.unscale(entry.score, board.mode.decimals),
            achieved_at=entry.achieved_at,
        )
        for entry in listed
        if entry.player in players and players[entry.player].erased_at is None
    ]
