"""DRF: what a board's histogram tells."""

from rest_framework.request import Request
from rest_framework.response import Response

from config import clock
from config.openapi import describe
from leaderboards.boards.board import Board, board_named
from leaderboards.estimates import distribution_state, preview_state
from leaderboards.ghosts import seen_by
from leaderboards.selectors import mode_get
from leaderboards.wire_estimates import DistributionQuery, DistributionState, PreviewQuery, PreviewState
from players import access
from players.views import CallerView


class EstimateView(CallerView):
    """Read by whoever may read the board, and as cacheable."""

    def board(self, game: str, mode: str, window: str, scope: str) -> Board:
        found, at = mode_get(game=access.may_read(self.caller, game), mode=mode), clock.now()
        board = board_named(mode=found, window=window, scope=scope, at=at)
        return seen_by(board, self.caller.player_id, at=at)

    def estimated(self, board: Board, state: object) -> Response:
        public = board.mode.game.public and self.caller.kind is access.Kind.NOBODY
        return self.shared_answer(state, public=public)


class PreviewView(EstimateView):
    @describe(
        "About the rank that a score would have",
        query=PreviewQuery,
        answers={200: PreviewState, 304: None},
        problems=[403],
        tag="boards",
    )
    def get(self, request: Request, game: str, mode: str, window: str) -> Response:
        asked = self.query(PreviewQuery)
        board = self.board(game, mode, window, asked.scope)
        return self.estimated(board, preview_state(board, asked=asked))


class DistributionView(EstimateView):
    @describe(
        "How the scores of a board are spread",
        query=DistributionQuery,
        answers={200: DistributionState, 304: None},
        problems=[403],
        tag="boards",
    )
    def get(self, request: Request, game: str, mode: str, window: str) -> Response:
        asked = self.query(DistributionQuery)
        board = self.board(game, mode, window, asked.scope)
        return self.estimated(board, distribution_state(board, buckets=asked.buckets))
