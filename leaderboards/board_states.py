"""Boards with names: what a reader sees. Names not known yet are one query, however long the page."""

from collections.abc import Mapping, Sequence

import msgspec

from config.errors import DomainError, InvalidRequest
from leaderboards import attempts, cursors, ranking
from leaderboards.boards.board import Band, Board, Entry, Page, Stop
from leaderboards.cursors import BoardCursor
from leaderboards.rules import encoding
from leaderboards.rules.instants import micros
from leaderboards.waiting import pending_states
from leaderboards.whereabouts import Around, around
from leaderboards.wire_scores import BoardQuery, BoardState, EntryState, LookupState, StandingState
from players.errors import PlayerNotFound
from players.profiles import Profile, pks_named, profiles, profiles_named


def board_state(board: Board, *, asked: BoardQuery) -> BoardState:
    mode, rules = board.mode, board.rules
    page, band = _page(board, asked)
    return BoardState(
        game=mode.game.slug,
        mode=mode.slug,
        window=board.window.kind.value,
        window_id=board.window.id,
        scope=board.scope,
        aggregation=rules.aggregation,
        order=rules.order,
        ranking=rules.ranking,
        tie_resolution_ms=rules.tie_resolution_ms(board.window.kind),
        state="live",
        stale=False,
        version=page.version,
        starts_at=board.window.starts_at,
        resets_at=board.window.ends_at,
        total=page.total,
        updated_at=page.updated_at,
        entries=_page_entries(board, page, metadata=asked.include == "metadata"),
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
    """Ranks in two trips, however many are asked for."""
    game = board.mode.game_id
    players = profiles_named([(game, one) for one in dict.fromkeys(player_ids)])
    page, found = around(board, [(player.pk, 0) for player in players.values()])
    entries = {one: where.own if where else None for one, where in zip(players, found, strict=True)}
    known = [(game, one) for one in player_ids if (game, one) in players]
    return LookupState(
        version=page.version,
        entries=[_entry(board, players[one], entries[one]) for one in known],
        not_found=[one for one in player_ids if (game, one) not in players],
    )


class Asked(msgspec.Struct, frozen=True):
    """Where somebody wants to know that a player stands."""

    board: Board
    player_id: str
    neighbors: int
    waiting: bool = False  # whether whoever asks may know what waits for a look


def standing_states(asked: Sequence[Asked], *, strict: bool = False) -> list[StandingState | DomainError]:
    """For each; any number of them costs as many trips as there are boards, times three. Strict: the first board that
    cannot be read is raised, and no other is asked.
    """
    players = pks_named([(one.board.mode.game_id, one.player_id) for one in asked])
    by_board: dict[Board, list[int]] = {}
    for index, one in enumerate(asked):
        if (one.board.mode.game_id, one.player_id) in players:
            by_board.setdefault(one.board, []).append(index)
    told: list[StandingState | DomainError | None] = [None] * len(asked)
    for board, indexes in by_board.items():
        own = [asked[index] for index in indexes]
        try:
            states: list[StandingState | DomainError] = [*_standings(board, own, players)]
        except DomainError as error:
            if strict:
                raise
            states = [error] * len(indexes)
        for index, state in zip(indexes, states, strict=True):
            told[index] = state
    return [state or _not_found(one) for state, one in zip(told, asked, strict=True)]


def _not_found(one: Asked) -> PlayerNotFound:
    return PlayerNotFound(f"There is no player {one.player_id!r} in {one.board.mode.game.slug}.")


def _standings(board: Board, asked: Sequence[Asked], players: Mapping[tuple[int, str], int]) -> list[StandingState]:
    game = board.mode.game_id
    page, found = around(board, [(players[game, one.player_id], one.neighbors) for one in asked])
    beside = {entry.player for one in found if one for entry in (*one.above, *one.below)}
    shown = profiles(beside) if beside else {}
    told = [_standing(board, page, one.player_id, where, shown) for one, where in zip(asked, found, strict=True)]
    pending = pending_states(board, [players[game, one.player_id] for one in asked if one.waiting])
    for one, state in zip(asked, told, strict=True):
        if pending and one.waiting:
            state.pending = pending.get(players[game, one.player_id], [])
    return told


def _standing(
    board: Board, page: Page, player_id: str, where: Around | None, shown: Mapping[int, Profile]
) -> StandingState:
    own = where.own if where else None
    return StandingState(
        player_id=player_id,
        rank=own.rank if own else None,
        score=encoding.unscale(own.score, board.rules.decimals) if own else None,
        achieved_at=own.achieved_at if own else None,
        total=page.total,
        percentile=_percentile(own.rank, page.total) if own else None,
        top_percent=_top_percent(own.rank, page.total) if own else None,
        version=page.version,
        rank_change=None,
        pending=[],
        above=_entries(board, where.above, shown) if where else [],
        below=_entries(board, where.below, shown) if where else [],
    )


def _percentile(rank: int, total: int) -> float:
    """How many percent stand here or below, rounded down to hundredths."""
    return (10_000 * (total - rank + 1) // total) / 100


def _top_percent(rank: int, total: int) -> float:
    """Rounded up to ten-thousandths."""
    return -(-1_000_000 * rank // total) / 10_000


def _entries(board: Board, entries: Sequence[Entry], shown: Mapping[int, Profile]) -> list[EntryState]:
    return [_entry(board, shown[entry.player], entry) for entry in entries if entry.player in shown]


def _entry(board: Board, player: Profile, entry: Entry | None) -> EntryState:
    return EntryState(
        rank=entry.rank if entry else None,
        player_id=player.player_id,
        display_name=player.display_name,
        country=player.country,
        avatar_url=player.avatar_url,
        score=encoding.unscale(entry.score, board.rules.decimals) if entry else None,
        achieved_at=entry.achieved_at if entry else None,
    )


def _page_entries(board: Board, page: Page, *, metadata: bool) -> list[EntryState]:
    shown = profiles([entry.player for entry in page.entries])
    states = _entries(board, page.entries, shown)
    if metadata and states:
        found = attempts.metadata_of(board.mode.pk, board.window.id, board.scope, list(shown))
        pks = {player.player_id: pk for pk, player in shown.items()}
        for state in states:
            state.metadata = found.get(pks[state.player_id])
    return states
