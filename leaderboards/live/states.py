"""Boards read for sockets, by workers and by web processes: the same functions as for any other reader."""

from collections.abc import Sequence
from dataclasses import replace

from config import wire
from leaderboards.board_states import board_state
from leaderboards.boards.board import Board
from leaderboards.live.announcements import Rank, Top
from leaderboards.rules import encoding
from leaderboards.whereabouts import around
from leaderboards.wire_scores import BoardQuery
from players.profiles import pks_of


def top_of(board: Board, limit: int) -> Top:
    """As it is now: nobody is told later that what they were shown was a second old."""
    board = replace(board, fresh=True)
    state = board_state(board, asked=BoardQuery(limit=limit))
    return Top(
        generation=board.mode.generation,
        version=state.version,
        total=state.total,
        window_id=state.window_id,
        updated_at=wire.encode(state.updated_at),
        limit=limit,
        entries=[wire.encode(entry) for entry in state.entries],
    )


def ranks_of(board: Board, player_ids: Sequence[str]) -> dict[str, Rank]:
    """For each where it stands, in one trip. Who has no score, or is not registered yet, stands nowhere."""
    pks = pks_of(board.mode.game_id, player_ids)
    known = [one for one in player_ids if one in pks]
    page, found = around(replace(board, fresh=True), [(pks[one], 0) for one in known])
    generation = board.mode.generation
    ranks = dict.fromkeys(player_ids, Rank(generation, page.version, None, b"null"))
    for player_id, where in zip(known, found, strict=True):
        if where:
            score = wire.encode(encoding.unscale(where.own.score, board.rules.decimals))
            ranks[player_id] = Rank(generation, page.version, where.own.rank, score)
    return ranks
