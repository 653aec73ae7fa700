"""DRF: players of a game."""

from rest_framework.request import Request
from rest_framework.response import Response

from config import clock
from config.openapi import describe, in_path
from players import access, services
from players.limits import own_profile_quota
from players.lookups import GameRecord
from players.selectors import player_export, player_get, player_profile
from players.views import CallerView
from players.wire import GameSlug, PlayerExport, PlayerId, PlayerProfile, PlayerUpsert

in_path(game=GameSlug, player_id=PlayerId)


class OwnView(CallerView):
    def _own(self, player_id: str, game: str) -> GameRecord:
        """The game, for whoever may act for the player; a player itself only now and then."""
        found = access.may_act_for(self.caller, player_id, game)
        self.limit(own_profile_quota(self.caller, found) or self.quota)
        return found


class PlayerView(OwnView):
    @describe("A player's profile", answers={200: PlayerProfile}, problems=[403], tag="players")
    def get(self, request: Request, game: str, player_id: str) -> Response:
        found = access.may_read(self.caller, game)
        return self.answer(player_profile(player_get(game=found, player_id=player_id)))

    @describe(
        "Registers or changes a player",
        body=PlayerUpsert,
        answers={200: PlayerProfile, 201: PlayerProfile},
        problems=[403],
        tag="players",
    )
    def put(self, request: Request, game: str, player_id: str) -> Response:
        found = self._own(player_id, game)
        wanted = self.body(PlayerUpsert)
        player, made = services.player_upsert(
            game=found, player_id=player_id, wanted=wanted, at=clock.now(), who=self.who
        )
        return self.answer(player_profile(player), status=201 if made else 200)

    @describe("Erases a player", answers={204: None}, problems=[403], tag="players")
    def delete(self, request: Request, game: str, player_id: str) -> Response:
        found = self._own(player_id, game)
        services.player_erase(game=found, player_id=player_id, at=clock.now(), who=self.who)
        return self.answer(status=204)


class PlayerExportView(OwnView):
    @describe("All that is stored about a player", answers={200: PlayerExport}, problems=[403], tag="players")
    def get(self, request: Request, game: str, player_id: str) -> Response:
        found = self._own(player_id, game)
        player = player_get(game=found, player_id=player_id)
        return self.answer(player_export(game=found, player=player, caller=self.caller))
