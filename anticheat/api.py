"""DRF: cases, rulings and rollbacks, for game servers with the scope `moderate`."""

from msgspec import UNSET
from rest_framework.request import Request
from rest_framework.response import Response

from anticheat import selectors
from anticheat.errors import KeyNotFound
from anticheat.models import Rollback, Ruling
from anticheat.previews import rollback_preview
from anticheat.services.ruling_acts import BANS
from anticheat.services.rulings import ruling_make, ruling_undo
from anticheat.wire import (
    CaseDetail,
    CaseList,
    CasesQuery,
    Number,
    RollbackPreviewState,
    RollbackQuestion,
    RulingList,
    RulingRequest,
    RulingsQuery,
    RulingState,
    Selection,
    UndoRequest,
)
from config import clock
from config.errors import Forbidden, InvalidRequest
from config.openapi import describe, in_path
from leaderboards.models import Mode
from leaderboards.selectors import mode_get
from players import access
from players.lookups import GameRecord
from players.models import ApiKey, Player
from players.scopes import Scope
from players.selectors import player_get
from players.views import CallerView

in_path(case=Number, ruling=Number)


class ModerationView(CallerView):
    def record(self, game: str) -> GameRecord:
        """Who may rule on what, and that nobody judges itself, is asked in the admin (anticheat/admin/access.py)."""
        if self.caller.kind is access.Kind.OPERATOR:
            raise Forbidden("Operators rule in the admin.")
        return access.may(self.caller, Scope.MODERATE, game)


class CasesView(ModerationView):
    @describe("Cases, the most pressing first", query=CasesQuery, answers={200: CaseList}, problems=[403], tag="trust")
    def get(self, request: Request, game: str) -> Response:
        return self.answer(selectors.case_list(game=self.record(game), asked=self.query(CasesQuery)))


class CaseView(ModerationView):
    @describe("A case with what was found and ruled", answers={200: CaseDetail}, problems=[403], tag="trust")
    def get(self, request: Request, game: str, case: int) -> Response:
        return self.answer(selectors.case_detail(selectors.case_get(game=self.record(game), case=case)))


class RulingsView(ModerationView):
    @describe("Rulings, the last first", query=RulingsQuery, answers={200: RulingList}, problems=[403], tag="trust")
    def get(self, request: Request, game: str) -> Response:
        return self.answer(selectors.ruling_list(game=self.record(game), asked=self.query(RulingsQuery)))

    @describe(
        "Rules: bans, releases, disqualifies, rolls back",
        body=RulingRequest,
        answers={201: RulingState},
        problems=[403, 409],
        tag="trust",
    )
    def post(self, request: Request, game: str) -> Response:
        record, asked = self.record(game), self.body(RulingRequest)
        ruling, attempts = _ruling(record, asked), asked.attempts
        made = ruling_make(ruling=ruling, by=self.who, now=clock.now(), attempts=attempts)
        return self.answer(selectors.ruling_state(made), status=201)


class RulingView(ModerationView):
    @describe("A ruling, and how far its rollback is", answers={200: RulingState}, problems=[403], tag="trust")
    def get(self, request: Request, game: str, ruling: int) -> Response:
        return self.answer(selectors.ruling_state(selectors.ruling_get(game=self.record(game), ruling=ruling)))


class UndoView(ModerationView):
    @describe("Undoes a ruling", body=UndoRequest, answers={200: RulingState}, problems=[403, 409], tag="trust")
    def post(self, request: Request, game: str, ruling: int) -> Response:
        found, asked = selectors.ruling_get(game=self.record(game), ruling=ruling), self.body(UndoRequest)
        undone = ruling_undo(ruling=found, by=self.who, now=clock.now(), why=asked.why)
        return self.answer(selectors.ruling_state(undone))


class RollbackPreviewView(ModerationView):
    @describe(
        "What a rollback would do",
        body=RollbackQuestion,
        answers={200: RollbackPreviewState},
        problems=[403],
        tag="trust",
    )
    def post(self, request: Request, game: str) -> Response:
        record, asked = self.record(game), self.body(RollbackQuestion)
        mode, player = _mode(record, asked.mode), _player(record, asked.player_id)
        rollback = _rollback(record, mode, player, asked.rollback)
        return self.answer(selectors.preview_state(rollback_preview(rollback=rollback, now=clock.now())))


def _ruling(game: GameRecord, asked: RulingRequest) -> Ruling:
    case = selectors.case_get(game=game, case=asked.case) if asked.case else None
    if case is not None:
        _agrees(asked, mode=case.mode.slug, player_id=case.player.player_id)
    # a ban is of the whole game unless it names a mode, with a case or without
    mode = case.mode if case and asked.kind not in BANS else _mode(game, asked.mode)
    player = case.player if case else _player(game, asked.player_id)
    return Ruling(
        kind=asked.kind,
        game_id=game.pk,
        case=case,
        mode=mode,
        player=player,
        reason=asked.reason,
        note=asked.note,
        ends_at=asked.ends_at,
        rollback=_rollback(game, mode, player, asked.rollback) if asked.rollback else None,
    )


def _agrees(asked: RulingRequest, **of_case: str | None) -> None:
    """What is named beside a case is the case's own: who names another is not to rule on somebody else unawares."""
    odd = [name for name, own in of_case.items() if getattr(asked, name) not in (None, own)]
    if odd:
        raise InvalidRequest(
            "The case is about another player or mode.", errors={name: ["not the case's"] for name in odd}
        )


def _mode(game: GameRecord, slug: str | None) -> Mode | None:
    return mode_get(game=game, mode=slug) if slug is not None else None


def _player(game: GameRecord, player_id: str | None) -> Player | None:
    return player_get(game=game, player_id=player_id) if player_id is not None else None


def _rollback(game: GameRecord, mode: Mode | None, player: Player | None, asked: Selection) -> Rollback:
    key = ApiKey.objects.filter(game_id=game.pk, prefix=asked.key).first() if asked.key is not None else None
    if asked.key is not None and key is None:
        raise KeyNotFound(f"{game.slug} has no such key.")
    return Rollback(
        game_id=game.pk,
        mode=mode,
        player=player,
        key=key,
        attempt_id=asked.attempt_id,
        since=asked.since,
        until=clock.now() if asked.until is UNSET else asked.until,
        predicate=asked.predicate,
    )
