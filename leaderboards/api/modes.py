"""DRF: games and modes."""

from rest_framework.request import Request
from rest_framework.response import Response

from config import clock
from config.openapi import describe, in_path
from leaderboards import selectors
from leaderboards.services.modes import mode_declare
from leaderboards.wire import GameList, GameState, ModeDeclaration, ModeSlug, ModeState
from players import access
from players.models import Game
from players.scopes import Scope
from players.selectors import games_visible
from players.views import CallerView

in_path(mode=ModeSlug)


class GamesView(CallerView):
    @describe("The games you may know of", answers={200: GameList}, tag="games")
    def get(self, request: Request) -> Response:
        return self.answer(selectors.game_list(games_visible(self.caller)))


class GameView(CallerView):
    @describe("A game and its modes", answers={200: GameState}, problems=[403], tag="games")
    def get(self, request: Request, game: str) -> Response:
        found = access.may_read(self.caller, game)
        return self.answer(selectors.game_state(found, at=clock.now()))


class ModeView(CallerView):
    @describe("A mode's rules and its windows now", answers={200: ModeState}, problems=[403], tag="modes")
    def get(self, request: Request, game: str, mode: str) -> Response:
        found = access.may_read(self.caller, game)
        shown, tuning = selectors.mode_get(game=found, mode=mode), Scope.MANAGE in self.caller.scopes
        return self.answer(selectors.mode_state(shown, at=clock.now(), tuning=tuning))

    @describe(
        "Declares a mode",
        body=ModeDeclaration,
        answers={200: ModeState, 201: ModeState},
        problems=[403, 409],
        tag="modes",
    )
    def put(self, request: Request, game: str, mode: str) -> Response:
        found = access.may(self.caller, Scope.MANAGE, game)
        wanted = self.body(ModeDeclaration)
        declared, change = mode_declare(game=Game.objects.get(pk=found.pk), slug=mode, wanted=wanted, who=self.who)
        status = 201 if change.outcome == "created" else 200
        return self.answer(selectors.mode_state(declared, at=clock.now(), tuning=True), status=status)
