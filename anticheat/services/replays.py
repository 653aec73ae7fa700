"""Taking the replay of an attempt: one for each, replaced only while nobody has looked at it."""

import hashlib
import json
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from anticheat.checks.replay import ReplayTuning
from anticheat.checks.replay import wanted as replays_wanted
from anticheat.models import Case
from anticheat.replays import Replay, storage
from config import wire
from config.celery import app as celery
from config.errors import InvalidRequest, PayloadTooLarge, UnsupportedMediaType
from leaderboards.errors import AttemptConflict, AttemptNotFound
from leaderboards.log import State
from leaderboards.models import Mode
from players.models import Player
from players.signals import player_erased

log = structlog.get_logger(__name__)
_AT_ONCE = 1000
_WANTED = (Case.State.OPEN, Case.State.WATCHING)


class Attempt(NamedTuple):
    """As the log has it."""

    id: int
    attempt_id: UUID
    mode: Mode
    received_at: datetime
    state: State
    score: int
    dimensions: dict[str, str]  # as submitted
    reasons: list[str]


class Sent(NamedTuple):
    content: bytes
    media_type: str
    key: int | None  # with which it was sent


def ring() -> None:
    """After the commit: a worker looks now; beat does anyway."""
    try:
        celery.send_task("anticheat.tasks.replays")
    except Exception:  # noqa: BLE001 - nothing after the commit can fail the caller
        log.warning("bell_not_rung", task="replays", consequence="beat looks within seconds")


def connect() -> None:
    player_erased.connect(_on_erase, dispatch_uid="replays-player-erased")


def attempt_find(*, player: Player, attempt_id: str) -> Attempt:
    """The last one, where an id was used again after its time."""
    unknown = AttemptNotFound(f"{player.player_id} has no attempt {attempt_id[:64]!r}.")
    wanted = wire.uuid(attempt_id)
    if wanted is None:  # what cannot be an id is nobody's
        raise unknown
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, mode_id, received_at, state, score,"
            " (coalesce(dimensions, '{}') || coalesce(left_out, '{}'))::text,"
            " coalesce(reasons, '[]')::text FROM score_attempts"
            " WHERE player_id = %s AND attempt_id = %s ORDER BY received_at DESC LIMIT 1",
            [player.pk, wanted],
        )
        row: Any = cursor.fetchone()
    if row is None:
        raise unknown
    id_, mode, received, state, score, dimensions, reasons = row
    told = json.loads(dimensions), json.loads(reasons)
    return Attempt(id_, wanted, Mode.objects.get(pk=mode), received, State(state), score, *told)


def replay_find(*, attempt: Attempt) -> Replay | None:
    return Replay.objects.filter(attempt=attempt.id).first()


def replay_take(*, player: Player, attempt: Attempt, sent: Sent, now: datetime) -> tuple[Replay, bool]:
    """And whether it is the first. The same bytes again change nothing, whatever has become of them."""
    wanted = replays_wanted(attempt.mode)
    _check(sent, attempt.mode, wanted)
    name = storage().save(f"{player.game_id}/{uuid4().hex}", ContentFile(sent.content))
    try:
        with transaction.atomic(durable=True):
            replay, made = Replay.objects.select_for_update(of=("self",)).get_or_create(
                attempt=attempt.id,
                defaults=_values(sent, name, wanted, now)
                | {"game_id": player.game_id, "mode": attempt.mode, "player": player}
                | {"attempt_id": attempt.attempt_id, "received_at": attempt.received_at},
            )
            unneeded = "" if made else _replace(replay, _values(sent, name, wanted, now))
    except BaseException:
        storage().delete(name)
        raise
    if unneeded:
        storage().delete(unneeded)
    if replay.state == Replay.State.WAITING:
        ring()
    return replay, made


def replays_forget(*, before: datetime) -> int:
    """Those sent before that nobody needs any more: neither a verifier nor people with a case open. How many."""
    cases = Case.objects.filter(mode=OuterRef("mode"), player=OuterRef("player"), state__in=_WANTED)
    old = Replay.objects.filter(~Exists(cases), uploaded_at__lt=before).exclude(state=Replay.State.WAITING)
    found = dict(old.order_by("uploaded_at").values_list("pk", "name")[:_AT_ONCE])
    Replay.objects.filter(pk__in=list(found)).delete()
    _forget(list(found.values()))
    return len(found)


def _check(sent: Sent, mode: Mode, wanted: ReplayTuning) -> None:
    if wanted.want == "off":
        raise InvalidRequest(f"{mode.slug} takes no replays.")
    if sent.media_type not in settings.REPLAY_TYPES:
        named = sent.media_type or "a body without a Content-Type"
        raise UnsupportedMediaType(f"Send {' or '.join(settings.REPLAY_TYPES)}, not {named}.")
    if len(sent.content) > settings.REPLAY_BYTES:
        raise PayloadTooLarge(f"A replay may have {settings.REPLAY_BYTES:,} bytes at most.")
    if not sent.content:
        raise InvalidRequest("The replay is empty.")


def _values(sent: Sent, name: str, wanted: ReplayTuning, now: datetime) -> dict[str, Any]:
    return {
        "name": name,
        "sha256": hashlib.sha256(sent.content).digest(),
        "size": len(sent.content),
        "media_type": sent.media_type,
        "state": Replay.State.WAITING if wanted.verifier else Replay.State.KEPT,
        "uploaded_at": now,
        "by_key_id": sent.key,
    }


def _replace(replay: Replay, values: dict[str, Any]) -> str:
    """The name of what is not needed any more: the bytes before, or those just sent."""
    if bytes(replay.sha256) == values["sha256"]:
        return str(values["name"])
    if replay.state != Replay.State.WAITING or replay.claimed_until is not None:
        raise AttemptConflict("The replay of this attempt is there, and being looked at.")
    before = replay.name
    for field, value in values.items():
        setattr(replay, field, value)
    replay.save(update_fields=list(values))
    return before


def _on_erase(*, player: Player, **_: object) -> None:
    """What a player did may say who it was."""
    found = Replay.objects.filter(player=player)
    names = list(found.values_list("name", flat=True))
    found.delete()
    transaction.on_commit(partial(_forget, names))


def _forget(names: list[str]) -> None:
    for name in names:
        try:
            storage().delete(name)
        except OSError:
            log.exception("replay_not_deleted", name=name)
