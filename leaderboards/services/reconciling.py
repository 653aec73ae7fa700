"""Compares what PostgreSQL says with what the boards show, and has what differs made again."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from random import randrange
from time import monotonic

import structlog
from django.db import transaction
from django.db.models import Max

from config.metrics import BOARD_DIFFERENCES
from leaderboards import placements
from leaderboards.boards import store
from leaderboards.boards.rebuild import expected, shard_rebuild
from leaderboards.boards.store import NotBuilt, Slot
from leaderboards.models import Mode, Placement, Stream
from leaderboards.rules.placing import dense_width
from leaderboards.rules.windows import kind_named, timezone_named, window_at
from leaderboards.send import slot_send
from leaderboards.services.corrections import players_relist

log = structlog.get_logger(__name__)
SAMPLE = 1000  # players a mode and look
SECONDS_A_LOOK = 3.0
TOP = 100  # of every window's global board: what most people see
_Board = tuple[str, str]  # window, scope


@dataclass(slots=True)
class Findings:
    """What was looked at, what differed, and what was made again because of it."""

    entries: int = 0
    misplaced: int = 0  # players listed elsewhere than they should be
    differing: Counter[str] = field(default_factory=Counter)  # board → entries
    repaired: list[str] = field(default_factory=list)  # mode and shard


def reconcile_all(*, now: datetime) -> Findings:
    """Every entry of every board. A stream is held while its shard is compared: scores are taken, boards wait."""
    findings = Findings()
    for mode in _played():
        _relist_misplaced(findings, mode, low=0, most=None, now=now)
        for shard in range(mode.shards):
            if _differs(findings, mode, shard, now):
                _repair(findings, mode, shard, now)
    return findings


def reconcile_sample(*, now: datetime) -> Findings:
    """The top of every mode's boards, some more players, and whether each board has as many members as it should.

    Modes as they come, for as long as a look may last: where there are many, not all of them each time.
    """
    findings = Findings()
    began = monotonic()
    for mode in _played(order="?"):
        if monotonic() - began > SECONDS_A_LOOK:
            break
        highest = Placement.objects.filter(mode=mode).aggregate(highest=Max("player_id"))["highest"] or 0
        low = randrange(highest + 1)  # noqa: S311 - whom we look at is no secret
        _relist_misplaced(findings, mode, low=low, most=SAMPLE, now=now)
        for shard in range(mode.shards):
            if _sample_differs(findings, mode, shard, low, now):
                _repair(findings, mode, shard, now)
    return findings


def _played(order: str = "pk") -> Iterator[Mode]:
    return Mode.objects.filter(first_score_at__isnull=False).select_related("game").order_by(order).iterator()


def _relist_misplaced(findings: Findings, mode: Mode, *, low: int, most: int | None, now: datetime) -> None:
    """Players whose placement is not what they and their bans say."""
    with transaction.atomic():
        found = placements.misplaced(mode, low=low, most=most, now=now)
        players_relist(found)
    findings.misplaced += len(found)
    BOARD_DIFFERENCES.labels("placement").inc(len(found))


def _differs(findings: Findings, mode: Mode, shard: int, now: datetime) -> bool:
    return _note(findings, mode, shard, _held(mode, shard, lambda slot: _compared(findings, mode, slot, now)))


def _held(mode: Mode, shard: int, compare: Callable[[Slot], Counter[str]]) -> Counter[str]:
    """What differs while nothing moves: the stream is held, and all that was stamped is sent first."""
    with transaction.atomic(durable=True):
        stream = Stream.objects.select_for_update().filter(mode=mode, shard=shard).first()
        mode.refresh_from_db(fields=["generation", "shards"])
        if stream is None:
            return Counter()  # spread over fewer shards meanwhile
        slot = Slot(mode.pk, shard, mode.generation)
        try:
            slot_send(mode=mode, slot=slot, upto=stream.seq)
            store.check(slot)
            return compare(slot)
        except NotBuilt:
            return Counter({"not whole": 1})


def _compared(findings: Findings, mode: Mode, slot: Slot, now: datetime) -> Counter[str]:
    """How many entries of each board are not as the standings say, or not there, or there without reason."""
    found: Counter[str] = Counter()
    said: Counter[_Board] = Counter()
    for changes in expected(mode, slot.shard, now):
        for change in changes:
            findings.entries += len(change.put)
            said[change.window, change.scope] += len(change.put)
            found[f"{change.window} {change.scope}"] += _wrong(mode, slot, change)
    for window, scope in store.boards(slot):
        surplus = store.read("range", [slot], window, scope, 0, 0)[0].members - said[window, scope]
        found[f"{window} {scope}"] += max(0, surplus)
    return found


def _wrong(mode: Mode, slot: Slot, change: store.Change) -> int:
    members = [store.member(player) for _, player in change.put]
    (answer,) = store.read("places", [slot], change.window, change.scope, *members)
    shown = [int(float(place)) if place else None for place in answer.rest[0]]
    wrong = sum(place != there for (place, _), there in zip(change.put, shown, strict=True))
    return wrong + _keys_wrong(slot, change, dense_width(mode.rules))


def _keys_wrong(slot: Slot, change: store.Change, width: int) -> int:
    """How many of the keys that dense ranks are counted from are not there, or there more than once."""
    keys = sorted({place // width for place, _ in change.put}) if width else []
    if not keys:
        return 0
    asked = [key for one in keys for key in (one - 1, one)]
    (answer,) = store.read("keys_above", [slot], change.window, change.scope, *asked)
    above = iter(answer.rest[0])
    return sum(from_here - beyond != 1 for from_here, beyond in zip(above, above, strict=True))


def _sample_differs(findings: Findings, mode: Mode, shard: int, low: int, now: datetime) -> bool:
    """In passing first. What differs then may be on its way, so it is looked at again with the stream held."""

    def compare(slot: Slot) -> Counter[str]:
        return _compared_some(findings, mode, slot, low, now)

    mode.refresh_from_db(fields=["generation", "shards"])
    slot = Slot(mode.pk, shard, mode.generation)
    try:
        found = compare(slot)
    except NotBuilt:
        found = Counter({"not whole": 1})
    return bool(+found) and _note(findings, mode, shard, _held(mode, shard, compare))


def _compared_some(findings: Findings, mode: Mode, slot: Slot, low: int, now: datetime) -> Counter[str]:
    """Of players from a number on, and of those whom the boards show on top."""
    store.check(slot)
    zone = timezone_named(mode.timezone)
    tops = {
        window: _top(slot, window) for window in (window_at(kind_named(kind), now, zone).id for kind in mode.windows)
    }
    sample = Placement.objects.filter(mode=mode, player_id__gte=low).order_by("player_id")[:SAMPLE]
    players = {*sample.values_list("player_id", flat=True), *(player for top in tops.values() for player in top)}
    changes = [change for some in expected(mode, slot.shard, now, players=sorted(players)) for change in some]
    found = Counter({f"{change.window} {change.scope}": _wrong(mode, slot, change) for change in changes})
    for window, top in tops.items():
        listed = [change.put for change in changes if (change.window, change.scope) == (window, "global")]
        found[f"{window} global"] += len(top - {player for put in listed for _, player in put})
    findings.entries += sum(len(change.put) for change in changes)
    return found


def _top(slot: Slot, window: str) -> set[int]:
    (answer,) = store.read("range", [slot], window, "global", 0, TOP - 1)
    return {player for player, _ in store.entries(answer.rest[0])}


def _note(findings: Findings, mode: Mode, shard: int, found: Counter[str]) -> bool:
    for board, entries in (+found).items():
        findings.differing[f"{mode} {board}"] += entries
        BOARD_DIFFERENCES.labels("entry").inc(entries)
        log.error("boards_differ", mode=mode.pk, shard=shard, board=board, entries=entries)
    return bool(+found)


def _repair(findings: Findings, mode: Mode, shard: int, now: datetime) -> None:
    mode.refresh_from_db(fields=["generation", "shards"])
    if shard_rebuild(mode=mode, shard=shard, now=now) is not None:
        findings.repaired.append(f"{mode} shard {shard}")
