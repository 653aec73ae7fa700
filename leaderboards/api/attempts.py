"""DRF: what became of a player's attempts, and vouching for one to come."""

from typing import Annotated
from uuid import UUID

from django.utils import timezone
from msgspec import Meta
from rest_framework.request import Request
from rest_framework.response import Response

from config.openapi import describe, in_path
from leaderboards.attempts import attempt_list, attempt_state
from leaderboards.selectors import mode_get
from leaderboards.services.attempt_tokens import attempt_token_make
from leaderboards.wire_scores import (
    AttemptList,
    AttemptsQuery,
    AttemptState,
    AttemptTokenRequest,
    AttemptTokenState,
)
from players import access
from players.scopes import Scope
from players.selectors import player_get
from players.views import CallerView

in_path(attempt_id=Annotated[UUID, Meta(examples=["0f8b5c1e-6f2b-4f43-9d3c-2f3a4d5e6f70"])])


class AttemptsView(CallerView):
    @describe("A player's attempts", query=AttemptsQuery, answers={200: AttemptList}, problems=[403], tag="scores")
    def get(self, request: Request, game: str, player_id: str) -> Response:
        record, asked = (
            access.may_act_for(self.caller, player_id, game, scope=Scope.READ),
            self.query(AttemptsQuery),
        )
        return self.answer(attempt_list(player=player_get(game=record, player_id=player_id), asked=asked))


class AttemptView(CallerView):
    @describe("What became of an attempt", answers={200: AttemptState}, problems=[403], tag="scores")
    def get(self, request: Request, game: str, player_id: str, attempt_id: str) -> Response:
        record = access.may_act_for(self.caller, player_id, game, scope=Scope.READ)
        player = player_get(game=record, player_id=player_id)
        return self.answer(attempt_state(player=player, attempt_id=attempt_id))


class AttemptTokenView(CallerView):
    @describe(
        "Vouches for an attempt",
        body=AttemptTokenRequest,
        answers={201: AttemptTokenState},
        problems=[403, 422],
        tag="scores",
    )
    def post(self, request: Request, game: str, mode: str) -> Response:
        record = access.may(self.caller, Scope.SUBMIT, game)
        found = mode_get(game=record, mode=mode)
        wanted = self.body(AttemptTokenRequest)
        return self.answer(attempt_token_make(game=record, mode=found, wanted=wanted, now=timezone.now()), status=201)
