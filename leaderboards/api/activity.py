"""DRF: what just happened in a mode."""

from rest_framework.request import Request
from rest_framework.response import Response

from config.openapi import describe
from leaderboards.activity import activity_recent
from leaderboards.known import mode_known
from leaderboards.wire_activity import ActivityQuery, ActivityState
from players import access
from players.views import CallerView


class ActivityView(CallerView):
    @describe(
        "What just happened",
        query=ActivityQuery,
        answers={200: ActivityState, 304: None},
        problems=[403],
        tag="boards",
    )
    def get(self, request: Request, game: str, mode: str) -> Response:
        record = access.may_read(self.caller, game)
        found, asked = mode_known(game=record, mode=mode), self.query(ActivityQuery)
        told = activity_recent(found, most=asked.limit, player_id=self.caller.player_id)
        state = ActivityState(game=game, mode=mode, activity=told)
        return self.shared_answer(state, public=record.public and self.caller.kind is access.Kind.NOBODY)
