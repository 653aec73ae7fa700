"""DRF: submitting scores, one and many."""

import re
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from config.openapi import describe
from config.request_context import current_id
from leaderboards import first_scores, score_questions
from leaderboards.score_states import batch_state, status_of, submission_state
from leaderboards.services.one_score import score_submit
from leaderboards.services.scores import scores_submit
from leaderboards.wire_scores import Batch, BatchState, PreferWait, Submission, SubmissionState, SubmitQuery
from players.views import CallerView

MOST_SECONDS = 10  # that a caller may wait for the boards
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,6})\"?\s*(?:$|[,;])", re.ASCII | re.IGNORECASE)


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
        asked = score_questions.score(self, score_questions.place(self, game, mode))
        with first_scores.awaited(asked.item.mode, current_id()):
            told = score_submit(asked=asked, wait=_wait(request.headers.get("Prefer", "")))
        return self.answer(submission_state(told, asked.window), status=status_of(told))


class ScoresView(CallerView):
    @describe("Submits many scores", body=Batch, answers={202: BatchState}, problems=[403], tag="scores")
    def post(self, request: Request, game: str) -> Response:
        record, items = score_questions.scores(self, game)
        outcomes = scores_submit(game=record, caller=self.caller, items=items)
        first_scores.note_batch(outcomes, current_id())
        return self.answer(batch_state(outcomes), status=202)


def _wait(header: str) -> int:
    """The seconds of `Prefer: wait=2`, at most 10; a preference that makes no sense is none (RFC 7240)."""
    found = _WAIT.search(header)
    return min(int(found[1]), MOST_SECONDS) if found else 0
