"""DRF: submitting scores, one and many."""

import re
from uuid import UUID

from django.utils import timezone
from msgspec import UNSET
from rest_framework.request import Request
from rest_framework.response import Response

from config import wire
from config.errors import DomainError, Forbidden, InvalidRequest
from config.openapi import describe
from leaderboards.boards.board import board_named
from leaderboards.errors import ModeNotFound
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.rules.windows import longest
from leaderboards.selectors import mode_get
from leaderboards.services.one_score import Told, score_submit
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import (
    MOST_ITEMS,
    Batch,
    BatchState,
    BatchSubmission,
    PreferWait,
    Refusal,
    Submission,
    SubmissionState,
    SubmitQuery,
)
from players import access
from players.access import Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope
from players.views import CallerView

MOST_SECONDS = 10  # that a caller may wait for the boards
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,6})\"?\s*(?:$|[,;])", re.ASCII | re.IGNORECASE)
_FRAUD_CHECK = {
    State.ACCEPTED: "clean",
    State.QUARANTINED: "quarantined",
    State.REJECTED: "rejected",
    State.TAKEN_BACK: "rejected",
}


class ScoreView(CallerView):
    @describe(
        "Submits a score",
        body=Submission,
        query=SubmitQuery,
        headers={"Prefer": PreferWait, "Idempotency-Key": UUID},
        answers={200: SubmissionState, 202: SubmissionState},
        problems=[403, 409, 422],
        tag="scores",
    )
    def post(self, request: Request, game: str, mode: str) -> Response:
        record = _may_submit(self.caller, game)
        found = mode_get(game=record, mode=mode)
        if self.caller.kind is Kind.PLAYER and found.submit == "trusted":
            raise Forbidden(f"{mode} takes scores from the game's servers only.")
        window = self.query(SubmitQuery).window or longest(found.windows).value
        board = board_named(mode=found, window=window, scope="global", at=timezone.now())
        item = Item(found, _attempt_named(self.body(Submission), request.headers.get("Idempotency-Key")))
        wait = _wait(request.headers.get("Prefer", ""))
        told = score_submit(game=record, caller=self.caller, item=item, board=board, wait=wait)
        return self.answer(_state(told, window), status=200 if told.after or told.outcome.duplicate else 202)


class ScoresView(CallerView):
    @describe("Submits many scores", body=Batch, answers={202: BatchState}, problems=[403], tag="scores")
    def post(self, request: Request, game: str) -> Response:
        record = access.may(self.caller, Scope.SUBMIT, game)
        modes: dict[str, Mode | DomainError] = {}
        items = [_item(raw, record, modes) for raw in self._raw_items()]
        outcomes = scores_submit(game=record, caller=self.caller, items=items)
        return self.answer(_batch_state(outcomes), status=202)

    def _raw_items(self) -> list[bytes]:
        if self.media_type != "application/x-ndjson":
            return [bytes(raw) for raw in self.body(Batch, in_parts=True).scores]
        lines = [line for line in self.content().split(b"\n") if line.strip()]
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


def _state(told: Told, window: str) -> SubmissionState:
    outcome, before = told.outcome, told.before
    mode, logged = outcome.mode, outcome.logged
    rank_before, rank_after, total = _ranks(told)
    return SubmissionState(
        status="committed" if told.after else "accepted",
        attempt_id=outcome.attempt_id,
        player_id=outcome.player_id,
        score=encoding.unscale(logged.score, mode.decimals),
        previous_best=encoding.unscale(before.score, mode.decimals) if before and before.score is not None else None,
        improved=told.improved,
        window=window,
        rank_before=rank_before,
        rank_after=rank_after,
        delta=rank_before - rank_after if rank_before and rank_after else None,
        total=total,
        estimate=told.after is None,
        duplicate=outcome.duplicate,
        fraud_check=_FRAUD_CHECK[logged.state],
        windows=told.windows,
        version=told.after.version if told.after and told.after.version is not None else UNSET,
    )


def _ranks(told: Told) -> tuple[int | None, int | None, int | None]:
    """Before, after and of how many: exact where the boards show it, else estimates; null where they do not answer."""
    if told.after is None:
        moved = told.moved
        return (moved.rank_before, moved.rank_after, moved.total) if moved else (None, None, None)
    rank = told.after.rank
    if told.outcome.duplicate or told.improved is False:
        return rank, rank, told.after.total  # what others did meanwhile is not this score's doing
    return told.before.rank if told.before else None, rank, told.after.total


def _attempt_named(sent: Submission, header: str | None) -> Submission:
    """With the id from the header `Idempotency-Key`, which must not contradict the body."""
    if header is None:
        return sent
    try:
        named = UUID(header.strip().strip('"'))
    except ValueError:
        raise InvalidRequest("Idempotency-Key: is not a UUID.", errors={"Idempotency-Key": ["not a UUID"]}) from None
    if sent.attempt_id not in (UNSET, named):
        raise InvalidRequest("Idempotency-Key and attempt_id differ.", errors={"attempt_id": ["not the header's"]})
    sent.attempt_id = named
    return sent


def _wait(header: str) -> int:
    """The seconds of `Prefer: wait=2`, at most 10; a preference that makes no sense is none (RFC 7240)."""
    found = _WAIT.search(header)
    return min(int(found[1]), MOST_SECONDS) if found else 0


def _batch_state(outcomes: list[Outcome | DomainError]) -> BatchState:
    errors = [
        Refusal(index=index, code=outcome.code, detail=outcome.detail)
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, DomainError)
    ]
    duplicates = sum(isinstance(outcome, Outcome) and outcome.duplicate for outcome in outcomes)
    accepted = len(outcomes) - len(errors) - duplicates
    return BatchState(accepted=accepted, duplicates=duplicates, rejected=len(errors), errors=errors)
