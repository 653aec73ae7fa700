"""What is answered to whoever submits scores, one or many."""

from msgspec import UNSET

from config.errors import DomainError
from leaderboards import judging
from leaderboards.log import State
from leaderboards.rules import encoding
from leaderboards.services.one_score import Told
from leaderboards.services.scores import Outcome
from leaderboards.wire_scores import BatchState, ItemLeftOut, Refusal, SubmissionState

_FRAUD_CHECK = {
    State.ACCEPTED: "clean",
    State.QUARANTINED: "quarantined",
    State.REJECTED: "rejected",
    State.TAKEN_BACK: "rejected",
}


def status_of(told: Told) -> int:
    return 200 if told.after or told.outcome.duplicate else 202


def submission_state(told: Told, window: str) -> SubmissionState:
    outcome, before = told.outcome, told.before
    logged, decimals = outcome.logged, outcome.mode.decimals
    rank_before, rank_after, total = _ranks(told)
    return SubmissionState(
        status="committed" if told.after else "accepted",
        attempt_id=outcome.attempt_id,
        player_id=outcome.player_id,
        score=encoding.unscale(logged.score, decimals),
        previous_best=encoding.unscale(before.score, decimals) if before and before.score is not None else None,
        improved=told.improved,
        window=window,
        rank_before=rank_before,
        rank_after=rank_after,
        delta=rank_before - rank_after if rank_before and rank_after else None,
        total=total,
        estimate=told.after is None,
        duplicate=outcome.duplicate,
        fraud_check="pending" if _is_pending(told) else _FRAUD_CHECK[logged.state],
        windows=told.windows,
        scopes_left_out=logged.scopes_left_out if logged.left_out else UNSET,
        version=told.after.version if told.after and told.after.version is not None else UNSET,
    )


def _is_pending(told: Told) -> bool:
    """Whether a check that needs history may yet hold it back. What the boards show, or do not gain by, is through."""
    if told.outcome.logged.state is not State.ACCEPTED or told.outcome.duplicate:
        return False
    return told.after is None and told.improved is not False and judging.may_hold(told.outcome.mode)


def _ranks(told: Told) -> tuple[int | None, int | None, int | None]:
    """Before, after and of how many: exact where the boards show it, else estimates; null where they do not answer."""
    if told.after is None:
        moved = told.moved
        return (moved.rank_before, moved.rank_after, moved.total) if moved else (None, None, None)
    rank = told.after.rank
    if told.outcome.duplicate or told.improved is False:
        return rank, rank, told.after.total  # what others did meanwhile is not this score's doing
    return told.before.rank if told.before else None, rank, told.after.total


def batch_state(outcomes: list[Outcome | DomainError]) -> BatchState:
    errors = [
        Refusal(
            index=index,
            code=outcome.code,
            detail=outcome.detail,
            retry_after=UNSET if outcome.retry_after is None else outcome.retry_after,
        )
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, DomainError)
    ]
    left_out = [
        ItemLeftOut(index=index, scopes=outcome.logged.scopes_left_out)
        for index, outcome in enumerate(outcomes)
        if isinstance(outcome, Outcome) and outcome.logged.left_out
    ]
    duplicates = sum(isinstance(outcome, Outcome) and outcome.duplicate for outcome in outcomes)
    accepted = len(outcomes) - len(errors) - duplicates
    return BatchState(
        accepted=accepted, duplicates=duplicates, rejected=len(errors), errors=errors, scopes_left_out=left_out or UNSET
    )
