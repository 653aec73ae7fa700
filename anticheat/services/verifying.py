"""Verifying replays: each is claimed, played again in its cell, and settled. What dies on the way is tried again.

A replay that reaches its score releases it, where nothing else holds it; one that does not rejects it. One that cannot
be verified says nothing either way: the score stays as it is, and people are told.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from time import monotonic

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from anticheat import sandbox
from anticheat.checks.replay import wanted
from anticheat.keys import Lock
from anticheat.replays import Replay, storage
from anticheat.sandbox import Bounds, NotVerified
from anticheat.services.replay_verdicts import replay_settle
from anticheat.services.replays import attempt_find, ring
from anticheat.verifying import Claim, Outcome
from leaderboards.rules.encoding import unscale

log = structlog.get_logger(__name__)
_TURN = 2.0  # seconds after which others may have the worker
_MARGIN = timedelta(seconds=30)  # over what a cell may take: to read, to settle
_TRIES = 2  # a busy machine is not the replay's fault


def replays_verify(*, clock: Callable[[], datetime]) -> int:
    """What waits, as long as there is time; how many."""
    ends, done = monotonic() + _TURN, 0
    while replay := _claim(clock()):
        _verify(replay, clock)
        done += 1
        if monotonic() >= ends:
            ring()
            break
    return done


def _claim(now: datetime) -> Replay | None:
    """The next that nobody is at. Only so many at once, in all workers together."""
    waiting = Replay.objects.filter(state=Replay.State.WAITING)
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [Lock.REPLAYS])
        if waiting.filter(claimed_until__gt=now).count() >= settings.REPLAYS_AT_ONCE:
            return None
        free = waiting.filter(Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)).order_by("uploaded_at", "pk")
        replay = free.select_for_update(of=("self",)).select_related("mode", "player", "game").first()
        if replay is None:
            return None
        replay.claimed_until = now + timedelta(seconds=settings.REPLAY_BOUNDS["seconds"]) + _MARGIN
        replay.tries += 1
        replay.save(update_fields=["claimed_until", "tries"])
    return replay


def _verify(replay: Replay, clock: Callable[[], datetime]) -> None:
    try:
        outcome: Outcome | NotVerified = _outcome(replay)
    except NotVerified as error:
        if replay.tries < _TRIES:
            Replay.objects.filter(pk=replay.pk, tries=replay.tries).update(claimed_until=None)
            return
        log.warning("replay_not_verified", replay=replay.pk, mode=replay.mode_id, why=str(error))
        outcome = error
    replay_settle(replay=replay, outcome=outcome, now=clock())


def _outcome(replay: Replay) -> Outcome:
    if replay.tries > _TRIES:
        raise NotVerified("Whoever verified it died while at it, more than once.")
    name = wanted(replay.mode).verifier
    path = settings.REPLAY_VERIFIERS.get(name)
    if path is None:
        raise NotVerified(f"There is no verifier {name!r}.")
    try:
        with storage().open(replay.name) as stored:
            content = stored.read()
    except OSError as error:
        raise NotVerified(f"Its bytes cannot be read: {error.strerror}.") from None
    return sandbox.run(path, content, _claimed(replay), bounds=Bounds(**settings.REPLAY_BOUNDS))


def _claimed(replay: Replay) -> Claim:
    attempt = attempt_find(player=replay.player, attempt_id=str(replay.attempt_id))
    return Claim(
        game=replay.game.slug,
        mode=replay.mode.slug,
        player_id=replay.player.player_id or "",
        attempt_id=str(replay.attempt_id),
        score=Decimal(unscale(attempt.score, replay.mode.decimals)),
        dimensions=attempt.dimensions,
    )
