"""The hot routes, answered in front of Django: calls that wait are collected, and asked together."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import structlog
from asgiref.typing import ASGI3Application
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import close_old_connections

from config import errors, problem
from config.bridge import whole_body
from config.errors import DomainError
from config.request_context import current
from leaderboards import first_scores, questions, score_questions
from leaderboards.board_states import Asked, lookup_state, standing_states
from leaderboards.fastlane import answers, pages, reads
from leaderboards.fastlane.calls import ME, Answer, Call, call_of
from leaderboards.fastlane.coalescer import Coalescer, Full, Run
from leaderboards.score_questions import Place
from leaderboards.score_states import batch_state, status_of, submission_state
from leaderboards.services.one_score import Asked as Submitted
from leaderboards.services.one_score import Told, scores_tell
from leaderboards.services.scores import scores_submit

log = structlog.get_logger(__name__)
_BUSY = errors.Unavailable("Too many calls are waiting already.", retry_after=1)
_GOOD = 1.0  # seconds
_REFUSED = 400  # the first status of a call that was
Act = Callable[[Sequence[Call]], Sequence[Answer]]


class FastLane:
    def __init__(self, inner: ASGI3Application, *, run: Run | None = None) -> None:
        self.inner = inner
        self.lanes = {name: _coalescer(name, lane, run) for name, lane in _LANES.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        call = call_of(scope, current().request_id) if scope["type"] == "http" else None
        if call is None:
            await self.inner(scope, receive, send)
            return
        if call.route.method == "POST":
            body = await whole_body(receive)
            if body is None:
                return  # the caller hung up before the request was whole
            call.content = body
        context = current()
        context.route, context.hot = call.route.name, True
        answer = self.answer(call)
        if isinstance(answer, asyncio.Future):
            answer = await answer
        context.proven = answer.status < _REFUSED and call.has_key
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def answer(self, call: Call) -> "Answer | asyncio.Future[Answer]":
        """At once where it is known, else when its turn has come."""
        if call.route.lane == "board":
            shown = pages.public_page(call)
            if shown is not None and reads.at_hand(call):
                if (refusal := reads.refusal(call)) is not None:
                    return answers.refused(call, refusal)
                return answers.page(call, shown, public=True)
        try:
            return self.lanes[call.route.lane].ask(call.game, call)
        except Full:
            return answers.refused(call, _BUSY)

    def call_of(self, scope: Any) -> Call | None:
        return call_of(scope)

    def failed(self, call: Call, error: Exception) -> Answer:
        return _failed(call, error)


class _Lane(NamedTuple):
    act: Act
    at_once: int
    gather: float = 0.0
    patience: float = 0.0
    room: float = 1  # to wait, as a part of what there is


def _coalescer(name: str, lane: _Lane, run: Run | None) -> Coalescer[Call, Answer]:
    mine = threading.local()

    def fresh(calls: Sequence[Call]) -> Sequence[Answer]:
        """A connection that the server has closed meanwhile is not found out by failing; one just used is not tried."""
        good_until = getattr(mine, "good_until", 0.0)
        if time.monotonic() > good_until:
            close_old_connections()
            good_until = time.monotonic() + _GOOD
        mine.good_until = 0.0
        found = lane.act(calls)
        mine.good_until = good_until
        return found

    waiting = max(2, int(settings.FAST_LANE_WAITING * lane.room))
    return Coalescer(
        name,
        lane.act if run else fresh,
        failed=_failed,
        at_once=lane.at_once,
        waiting=waiting,
        gather=lane.gather,
        patience=lane.patience,
        run=run,
    )


def _failed(call: Call, error: Exception) -> Answer:
    known = problem.domain_error(error)
    if known is None:
        log.error("call_failed", route=call.route.name, request_id=call.request_id, exc_info=error)
        known = errors.InternalError("This is our fault. The request id helps us find it.")
    return answers.refused(call, known)


def _standings(calls: Sequence[Call]) -> Sequence[Answer]:
    reads.count(calls)
    asked = _asked(calls)
    told = iter(standing_states([one for one in asked if not isinstance(one, DomainError)]))
    found = [one if isinstance(one, DomainError) else next(told) for one in asked]
    return [
        answers.refused(call, one) if isinstance(one, DomainError) else answers.told(call, one)
        for call, one in zip(calls, found, strict=True)
    ]


def _asked(calls: Sequence[Call]) -> list[Asked | DomainError]:
    """Calls that differ in the player only are one question: who may ask, and of which board, is found out once."""
    known: dict[tuple[object, ...], tuple[Asked | DomainError, Call]] = {}
    asked = list[Asked | DomainError]()
    for call in calls:
        if (refusal := reads.refusal(call)) is not None:
            asked.append(refusal)
            continue
        alike = call.route, call.game, call.mode, call.window, call.query_string, call.headers.get(b"authorization")
        if alike not in known:
            known[alike] = _tried(_standing, call), call
        found, first = known[alike]
        if call.route is not ME and not isinstance(found, DomainError) and call is not first:
            waiting = questions.knows_what_waits(first.caller, call.player_id)
            found = Asked(found.board, call.player_id, found.neighbors, waiting)
        asked.append(found)
    return asked


def _standing(call: Call) -> Asked:
    if call.route is ME:
        return questions.own_standing(call, call.game, call.mode, call.window)
    return questions.standing(call, call.game, call.mode, call.window, call.player_id)


def _scores(calls: Sequence[Call]) -> Sequence[Answer]:
    """One commit for each game."""
    found: list[Any] = _submissions(calls)
    games: dict[int, list[int]] = {}
    for index, one in enumerate(found):
        if not isinstance(one, DomainError):
            games.setdefault(one.game.pk, []).append(index)
    for indexes in games.values():
        asked = [found[index] for index in indexes]
        for index, told in zip(indexes, scores_tell(game=asked[0].game, asked=asked), strict=True):
            found[index] = told
    return [_submitted(call, one) for call, one in zip(calls, found, strict=True)]


def _submissions(calls: Sequence[Call]) -> list[Submitted | DomainError]:
    """As above: where a caller may submit to is found out once. A call that was read before is not read again."""
    known: dict[tuple[object, ...], Place | DomainError] = {}
    for call in calls:
        alike = call.game, call.mode, call.query_string, call.headers.get(b"authorization")
        there = known.get(alike)
        if there is None:
            there = known[alike] = _tried(_place, call)
        if isinstance(there, DomainError):
            call.asked = there
        elif call.asked is None or isinstance(call.asked, DomainError):
            call.asked = _tried(partial(score_questions.score, there=there), call)
    return [call.asked for call in calls]


def _place(call: Call) -> Place:
    return score_questions.place(call, call.game, call.mode)


def _submitted(call: Call, told: Told | DomainError) -> Answer:
    if isinstance(told, DomainError):
        return answers.refused(call, told)
    first_scores.note(told.outcome.mode, call.request_id)
    return answers.told(call, submission_state(told, call.asked.window), status=status_of(told))


def _batches(calls: Sequence[Call]) -> Sequence[Answer]:
    return [_one(_batch, call) for call in calls]


def _batch(call: Call) -> Answer:
    record, items = score_questions.scores(call, call.game)
    outcomes = scores_submit(game=record, caller=call.caller, items=items)
    first_scores.note_batch(outcomes, call.request_id)
    return answers.told(call, batch_state(outcomes), status=202)


def _lookups(calls: Sequence[Call]) -> Sequence[Answer]:
    reads.count(calls)
    return [_one(_lookup, call) for call in calls]


def _lookup(call: Call) -> Answer:
    board, player_ids = questions.lookup(call, call.game, call.mode, call.window)
    return answers.told(call, lookup_state(board, player_ids=player_ids))


def _boards(calls: Sequence[Call]) -> Sequence[Answer]:
    reads.count(calls)
    return [_one(_board, call) for call in calls]


def _board(call: Call) -> Answer:
    board, asked, public = questions.board(call, call.game, call.mode, call.window)
    return answers.page(call, pages.page(call, board, asked, public=public), public=public)


def _tried(act: Callable[[Call], Any], call: Call) -> Any:
    """What it comes to, or why it is refused: one that asks too much is no reason to ask for the others again."""
    try:
        return act(call)
    except DatabaseFailure:
        raise  # nobody's own: each is made alone, on a connection that is looked at first
    except Exception as error:
        known = problem.domain_error(error)
        if known is None:
            raise
        return known


def _one(act: Callable[[Call], Answer], call: Call) -> Answer:
    found = reads.refusal(call) or _tried(act, call)
    return answers.refused(call, found) if isinstance(found, DomainError) else found


_LANES = {
    "score": _Lane(_scores, at_once=512, gather=0.01, patience=0.05),
    "scores": _Lane(_batches, at_once=1, room=1 / 4),
    "standing": _Lane(_standings, at_once=256, gather=0.001, patience=0.02),
    "lookup": _Lane(_lookups, at_once=8, room=1 / 4),
    "board": _Lane(_boards, at_once=64),
}
