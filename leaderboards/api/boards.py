"""DRF: boards and where a player stands on them."""

from rest_framework.request import Request
from rest_framework.response import Response

from config.errors import DomainError
from config.openapi import describe, in_path
from leaderboards import questions
from leaderboards.board_states import Asked, board_state, lookup_state, standing_states
from leaderboards.wire_scores import (
    BoardQuery,
    BoardState,
    Lookup,
    LookupState,
    ScopeQuery,
    StandingQuery,
    StandingState,
    WindowName,
)
from players.views import CallerView

in_path(window=WindowName)


class BoardView(CallerView):
    @describe(
        "A board, from an offset or a cursor on",
        query=BoardQuery,
        answers={200: BoardState, 304: None},
        problems=[403],
        tag="boards",
    )
    def get(self, request: Request, game: str, mode: str, window: str) -> Response:
        board, asked, public = questions.board(self, game, mode, window)
        return self.shared_answer(board_state(board, asked=asked), public=public)


class StandingView(CallerView):
    @describe("Where a player stands", query=StandingQuery, answers={200: StandingState}, problems=[403], tag="boards")
    def get(self, request: Request, game: str, mode: str, window: str, player_id: str) -> Response:
        return self._told(questions.standing(self, game, mode, window, player_id))

    def _told(self, asked: Asked) -> Response:
        (told,) = standing_states([asked])
        if isinstance(told, DomainError):
            raise told
        return self.answer(told)


class MeView(StandingView):
    @describe("Where you stand", query=StandingQuery, answers={200: StandingState}, problems=[403], tag="boards")
    def get(self, request: Request, game: str, mode: str, window: str) -> Response:  # type: ignore[override]
        return self._told(questions.own_standing(self, game, mode, window))


class LookupView(CallerView):
    reads_by_post = True

    @describe(
        "Where many players stand",
        body=Lookup,
        query=ScopeQuery,
        answers={200: LookupState},
        problems=[403],
        tag="boards",
    )
    def post(self, request: Request, game: str, mode: str, window: str) -> Response:
        board, player_ids = questions.lookup(self, game, mode, window)
        return self.answer(lookup_state(board, player_ids=player_ids))
