"""DRF: boards and where a player stands on them."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.errors import DomainError, Forbidden, Unauthenticated
from config.openapi import describe, in_path
from leaderboards.board_states import Asked, board_state, lookup_state, standing_states
from leaderboards.boards.board import board_named
from leaderboards.selectors import mode_get
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
from players import access
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
        found, asked = mode_get(game=access.may_read(self.caller, game), mode=mode), self.query(BoardQuery)
        board = board_named(mode=found, window=window, scope=asked.scope, at=timezone.now())
        public = found.game.public and self.caller.kind is access.Kind.NOBODY
        return self.shared_answer(board_state(board, asked=asked), public=public)


class StandingView(CallerView):
    @describe("Where a player stands", query=StandingQuery, answers={200: StandingState}, problems=[403], tag="boards")
    def get(self, request: Request, game: str, mode: str, window: str, player_id: str) -> Response:
        record, asked = access.may_read(self.caller, game), self.query(StandingQuery)
        board = board_named(mode=mode_get(game=record, mode=mode), window=window, scope=asked.scope, at=timezone.now())
        (told,) = standing_states([Asked(board, player_id, asked.neighbors)])
        if isinstance(told, DomainError):
            raise told
        return self.answer(told)


class MeView(StandingView):
    @describe("Where you stand", query=StandingQuery, answers={200: StandingState}, problems=[403], tag="boards")
    def get(self, request: Request, game: str, mode: str, window: str) -> Response:  # type: ignore[override]
        if self.caller.kind is access.Kind.NOBODY:
            raise Unauthenticated("This needs a player token.")
        if self.caller.player_id is None:
            raise Forbidden("This is answered to player tokens; with a key, ask for …/players/{player_id}.")
        return super().get(request, game, mode, window, self.caller.player_id)


class LookupView(CallerView):
    @describe(
        "Where many players stand",
        body=Lookup,
        query=ScopeQuery,
        answers={200: LookupState},
        problems=[403],
        tag="boards",
    )
    def post(self, request: Request, game: str, mode: str, window: str) -> Response:
        found, asked = mode_get(game=access.may_read(self.caller, game), mode=mode), self.query(ScopeQuery)
        board = board_named(mode=found, window=window, scope=asked.scope, at=timezone.now())
        return self.answer(lookup_state(board, player_ids=self.body(Lookup).player_ids))
