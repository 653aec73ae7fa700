"""Boards with names: what a reader sees. Hydrated with one query, however long the page."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from config.errors import InvalidRequest
from leaderboards import attempts, cursors, ranking
from leaderboards.boards.board import Band, Board, Entry, Page, Stop
from leaderboards.cursors import BoardCursor
from leaderboards.rules import encoding
from leaderboards.rules.instants import micros
from leaderboards.wire_scores import BoardQuery, BoardState, EntryState, LookupState, StandingState
from players.models import Player


def board_state(board: Board, *, asked: BoardQuery) -> BoardState:
    mode = board.mode
    page, band = _page(board, asked)
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
        entries=_entries(board, page.entries, metadata=asked.include == "metadata"),
        next_cursor=_cursor(board, page.entries[-1], band, after=True) if page.more_after else None,
        prev_cursor=_cursor(board, page.entries[0], band, after=False) if page.more_before else None,
    )


def _page(board: Board, asked: BoardQuery) -> tuple[Page, Band | None]:
    band = _band(board, asked)
    if asked.cursor is None:
        return ranking.page(board, offset=asked.offset, limit=asked.limit, band=band), band
    cursor = cursors.read(asked.cursor, BoardCursor)
    if (cursor.mode, cursor.window, cursor.scope) != (board.mode.pk, board.window.id, board.scope):
        raise cursors.refusal("is one of another board or window")
    own = None if cursor.low is None and cursor.high is None else Band(cursor.low, cursor.high)
    if band not in (None, own):
        raise cursors.refusal("is one of another band of scores")
    stop = Stop(cursor.score, cursor.at, cursor.player, after=cursor.after)
    return ranking.page_from(board, stop=stop, limit=asked.limit, band=own), own


def _band(board: Board, asked: BoardQuery) -> Band | None:
    if asked.min_score is None and asked.max_score is None:
        return None
    try:
        low, high = (
            None if side is None else encoding.scale(side, board.mode.decimals)
            for side in (asked.min_score, asked.max_score)
        )
    except ValueError as error:
        raise InvalidRequest(f"min_score, max_score: {error}") from None
    return Band(low, high)


def _cursor(board: Board, entry: Entry, band: Band | None, *, after: bool) -> str:
    at = None if entry.achieved_at is None else micros(entry.achieved_at)
    low, high = (None, None) if band is None else (band.low, band.high)
    return cursors.write(
        BoardCursor(board.mode.pk, board.window.id, board.scope, after, entry.score, at, entry.player, low, high)
    )


def lookup_state(board: Board, *, player_ids: Sequence[str]) -> LookupState:
    """Names in one query, ranks in two trips, however many are asked for."""
    found = Player.objects.filter(game_id=board.mode.game_id, player_id__in=set(player_ids), erased_at__isnull=True)
    players = {player.player_id or "": player for player in found}
    page = ranking.standings(board, [player.pk for player in players.values()])
    entries = {entry.player: entry for entry in page.entries}
    known = [players[one] for one in player_ids if one in players]
    return LookupState(
        version=page.version,
        entries=[_entry(board, player, entries.get(player.pk)) for player in known],
        not_found=[one for one in player_ids if one not in players],
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


def _entries(board: Board, entries: Sequence[Entry], *, metadata: bool = False) -> list[EntryState]:
    players = Player.objects.in_bulk([entry.player for entry in entries])
    states = [
        _entry(board, players[entry.player], entry)
        for entry in entries
        if entry.player in players and players[entry.player].erased_at is None
    ]
    if metadata and states:
        found = attempts.metadata_of(board.mode.pk, board.window.id, board.scope, list(players))
        pks = {player.player_id: pk for pk, player in players.items()}
        for state in states:
            state.metadata = found.get(pks[state.player_id])
    return states


def _entry(board: Board, player: Player, entry: Entry | None) -> EntryState:
    return EntryState(
        rank=entry.rank if entry else None,
        player_id=player.player_id or "",
        display_name=player.display_name,
        country=player.country or None,
        avatar_url=player.avatar_url or None,
        score=encoding.unscale(entry.score, board.mode.decimals) if entry else None,
        achieved_at=entry.achieved_at if entry else None,
    )
