"""DRF: submitting scores, one and many."""

from rest_framework.request import Request
from rest_framework.response import Response

from config import wire
from config.errors import DomainError, Forbidden, InvalidRequest
from config.openapi import describe
from leaderboards.errors import ModeNotFound
from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.rules.windows import KINDS, longest, timezone_named, window_at
from leaderboards.selectors import mode_get
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Batch, BatchState, BatchSubmission, Refusal, Submission, SubmissionState
from players import access
from players.access import Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope
from players.views import CallerView

MOST_ITEMS = 10_000


class ScoreView(CallerView):
    @describe(
        "Submits a score",
        body=Submission,
        answers={200: SubmissionState, 202: SubmissionState},
        problems=[403, 409, 422],
        tag="scores",
    )
    def post(self, request: Request, game: str, mode: str) -> Response:
        record = _may_submit(self.caller, game)
        found = mode_get(game=record, mode=mode)
        if self.caller.kind is Kind.PLAYER and found.submit != "open":
            raise Forbidden(f"{mode} takes scores from the game's servers only.")
        item = Item(found, self.body(Submission))
        (outcome,) = scores_submit(game=record, caller=self.caller, items=[item])
        if isinstance(outcome, DomainError):
            raise outcome
        return self.answer(_state(outcome), status=200 if outcome.duplicate else 202)


class ScoresView(CallerView):
    @describe("Submits many scores", body=Batch, answers={202: BatchState}, problems=[403], tag="scores")
    def post(self, request: Request, game: str) -> Response:
        record = access.may(self.caller, Scope.SUBMIT, game)
        modes: dict[str, Mode | DomainError] = {}
        items = [_item(raw, record, modes) for raw in self._raw_items()]
        outcomes = scores_submit(game=record, caller=self.caller, items=items)
        return self.answer(_batch_state(outcomes), status=202)

    def _raw_items(self) -> list[bytes]:
        request = self.request._request  # noqa: SLF001 - as in ApiView.body
        if (request.content_type or "").lower() != "application/x-ndjson":
            return [bytes(raw) for raw in self.body(Batch).scores]
        lines = [line for line in request.body.split(b"\n") if line.strip()]
        if not 1 <= len(lines) <= MOST_ITEMS:
            raise InvalidRequest(f"A batch has 1 to {MOST_ITEMS:,} scores.")
        return lines


def _may_submit(caller: Caller, game: str) -> GameRecord:
    if caller.kind is Kind.PLAYER:
        return access.may_read(caller, game)
    return access.may(caller, Scope.SUBMIT, game)


def _item(raw: bytes, game: GameRecord, modes: dict[str, Mode | DomainError]) -> Item | DomainError:
    try:
        sent = wire.decode(raw, BatchSubmission)
    except DomainError as error:
        return error
    if sent.mode not in modes:
        try:
            modes[sent.mode] = mode_get(game=game, mode=sent.mode)
        except ModeNotFound as error:
            modes[sent.mode] = error
    mode = modes[sent.mode]
    return mode if isinstance(mode, DomainError) else Item(mode, sent)


def _state(outcome: Outcome) -> SubmissionState:
    """Ranks and the best before are estimates that come with the histogram; null until then."""
    mode, logged = outcome.mode, outcome.logged
    zone = timezone_named(mode.timezone)
    counted = [kind for bit, kind in enumerate(KINDS) if logged.windows >> bit & 1]
    return SubmissionState(
        status="accepted",
        attempt_id=outcome.attempt_id,
        player_id=outcome.player_id,
        score=encoding.unscale(logged.score, mode.decimals),
        previous_best=None,
        improved=None,
        window=longest(mode.windows).value,
        rank_before=None,
        rank_after=None,
        delta=None,
        total=None,
        estimate=True,
        duplicate=outcome.duplicate,
        fraud_check="clean",
        windows=[window_at(kind, logged.achieved_at, zone).id for kind in counted],
    )


def _batch_state(outcomes: list[Outcome | DomainError]) -> BatchState:
    errors = [
        Refusal(index=index, code=outcome.code, detail=outcome.detail)
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, DomainError)
    ]
    duplicates = sum(isinstance(outcome, Outcome) and outcome.duplicate for outcome in outcomes)
    accepted = len(outcomes) - len(errors) - duplicates
    return BatchState(accepted=accepted, duplicates=duplicates, rejected=len(errors), errors=errors)
