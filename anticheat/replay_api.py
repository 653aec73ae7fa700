"""DRF: sending the replay of an attempt, and what became of it."""

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from anticheat import replay_addresses
from anticheat.replays import Replay
from anticheat.services.replays import Sent, attempt_find, replay_find, replay_take
from anticheat.wire_replays import ReplayQuery, ReplayState
from config import clock
from config.openapi import describe
from players import access
from players.lookups import GameRecord
from players.scopes import Scope
from players.selectors import player_get
from players.views import CallerView


class ReplayView(CallerView):
    @describe("Where the replay of an attempt goes", answers={200: ReplayState}, problems=[403], tag="scores")
    def get(self, request: Request, game: str, player_id: str, attempt_id: str) -> Response:
        record = access.may_act_for(self.caller, player_id, game, scope=Scope.SUBMIT)
        attempt = attempt_find(player=player_get(game=record, player_id=player_id), attempt_id=attempt_id)
        upload = replay_addresses.address(game, player_id, attempt_id)
        return self.answer(_state(replay_find(attempt=attempt), upload))

    @describe(
        "Sends the replay of an attempt",
        upload=settings.REPLAY_TYPES,
        query=ReplayQuery,
        answers={200: ReplayState, 201: ReplayState},
        problems=[403, 409],
        tag="scores",
    )
    def put(self, request: Request, game: str, player_id: str, attempt_id: str) -> Response:
        player = player_get(game=self._may_send(game, player_id, attempt_id), player_id=player_id)
        attempt = attempt_find(player=player, attempt_id=attempt_id)
        sent = Sent(self.content, self.media_type, self.caller.key)
        replay, made = replay_take(player=player, attempt=attempt, sent=sent, now=clock.now())
        return self.answer(_state(replay), status=201 if made else 200)

    def _may_send(self, game: str, player_id: str, attempt_id: str) -> GameRecord:
        signature = self.query(ReplayQuery).signature
        if signature is None:
            return access.may_act_for(self.caller, player_id, game, scope=Scope.SUBMIT)
        replay_addresses.check(signature, game=game, player_id=player_id, attempt_id=attempt_id)
        return access.vouched(game)


def _state(replay: Replay | None, upload: str | None = None) -> ReplayState:
    return ReplayState(
        state=replay.state if replay else "none",
        sha256=bytes(replay.sha256).hex() if replay else None,
        size=replay.size if replay else None,
        uploaded_at=replay.uploaded_at if replay else None,
        largest=settings.REPLAY_BYTES,
        types=settings.REPLAY_TYPES,
        upload=upload,
        upload_expires_at=replay_addresses.expires_at(clock.now()) if upload else None,
    )
