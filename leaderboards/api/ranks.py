"""DRF: all boards of a player."""

from rest_framework.request import Request
from rest_framework.response import Response

from config import clock
from config.openapi import describe
from leaderboards.player_ranks import player_ranks
from leaderboards.wire_players import RanksState
from players import access
from players.views import CallerView


class RanksView(CallerView):
    @describe("Where a player stands on all its boards", answers={200: RanksState}, problems=[403], tag="boards")
    def get(self, request: Request, game: str, player_id: str) -> Response:
        record, viewer = access.may_read(self.caller, game), self.caller.player_id
        return self.answer(player_ranks(game=record, player_id=player_id, viewer=viewer, at=clock.now()))
