"""From stamps to boards: one function call a number, from the mark on."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from config.errors import Unavailable
from leaderboards import effects
from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot
from leaderboards.effects import Effect, Stamped
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Stamp, Stream
from leaderboards.rules.instants import micros
from leaderboards.rules.placing import dense_width, placing
from leaderboards.rules.windows import timezone_named, window_by_id

log = structlog.get_logger(__name__)
Sent = Callable[[Mode, Sequence[Change]], object]


def stream_send(*, mode: Mode, shard: int, upto: int, fresh: Sequence[Stamped] = ()) -> None:
    """Until the boards show number `upto`. `fresh`: the last of what was stamped, where the caller has it at hand."""
    slot_send(mode=mode, slot=Slot(mode.pk, shard, mode.generation), upto=upto, fresh=fresh, sent=_tell)


def boards_remade(*, mode: Mode, shard: int) -> None:
    """Nothing was sent, and all boards of the shard may show something else: told as changes of nothing."""
    try:
        there = store.boards(Slot(mode.pk, shard, mode.generation))
    except Unavailable:
        return
    _tell(mode, [Change(window, scope, 0, [], []) for window, scope in there])


def _tell(mode: Mode, changes: Sequence[Change]) -> None:
    """`settings.AFTER_SEND` is given what a batch has changed on the boards, in the drainer's own time. What a server
    lost is sent, and told, again.
    """
    for listener in _listeners():
        try:
            listener(mode, changes)
        except Exception:  # the boards show it, whoever fails to tell
            log.exception("after_send_failed", mode=mode.pk)


@cache
def _listeners() -> list[Sent]:
    return [import_string(path) for path in settings.AFTER_SEND]


def _nobody(_mode: Mode, _changes: Sequence[Change]) -> None:
    """Is told."""


def slot_send(*, mode: Mode, slot: Slot, upto: int, fresh: Sequence[Stamped] = (), sent: Sent = _nobody) -> None:
    """The same for a generation that may not be the mode's own yet. `NotBuilt`: the stamps do not reach."""
    mark = store.mark(slot)
    if mark is None or (mark > upto and mark > _stamped(slot)):
        raise store.NotBuilt  # a mark that PostgreSQL does not know is another history's
    while mark < upto:
        known = bool(fresh) and fresh[0].seq <= mark + 1 <= fresh[-1].seq
        following = fresh[mark + 1 - fresh[0].seq :] if known else _read_after(mode, slot.shard, mark)
        try:
            mark = _send(mode, slot, following, mark, sent)
        except store.Gap as gap:
            mark = gap.mark


def _stamped(slot: Slot) -> int:
    return Stream.objects.filter(mode_id=slot.mode, shard=slot.shard).values_list("seq", flat=True).first() or 0


def _send(mode: Mode, slot: Slot, following: Sequence[Stamped], mark: int, sent: Sent) -> int:
    for seq, effect, at in following:
        changes = _placed(mode, effect)
        mark = store.apply(slot, seq, changes, at=micros(at), width=dense_width(mode.rules))
        sent(mode, changes + _unseen(effect))
    return mark


def stamped_after(*, mode: Mode, shard: int, mark: int) -> Iterator[tuple[int, list[Change]]]:
    """Some hundred batches after a number, without a gap: number, and what it changes."""
    for seq, effect, _ in _read_after(mode, shard, mark):
        yield seq, _placed(mode, effect)


def _read_after(mode: Mode, shard: int, mark: int) -> list[Stamped]:
    stamps = Stamp.objects.filter(mode=mode, shard=shard, seq__gt=mark).order_by("seq")
    found = list(stamps.values_list("seq", "effect", "created_at")[:100])
    if [seq for seq, _, _ in found] != list(range(mark + 1, mark + 1 + len(found))) or not found:
        raise store.NotBuilt  # all that was to be sent is gone, or the boards are older than the oldest batch kept
    try:
        return [Stamped(seq, effects.decode(bytes(effect)), at) for seq, effect, at in found]
    except ValueError as error:  # msgspec's are
        log.exception("stamp_unreadable", mode=mode.pk, shard=shard, after=mark)
        raise store.NotBuilt from error  # the standings have what it did


def _placed(mode: Mode, effect: Effect) -> list[Change]:
    """Board by board, encoded with the rules as they are now: a stamp holds raw scores."""
    rules, zone, boards = mode.rules, timezone_named(mode.timezone), dict[tuple[str, str], Change]()
    windows = {name: window_by_id(name, zone) for name in {change.window for change in effect.boards}}
    encodings = {name: placing(rules, window, epoch=mode.epoch) for name, window in windows.items()}
    for change in effect.boards:
        if change.is_unseen:
            continue
        places = encodings[change.window].places(change.scores, change.ats)
        put = list(zip(places, change.players, strict=True))
        for scope in [change.scopes] if isinstance(change.scopes, str) else change.scopes:
            board = boards.get((change.window, scope))
            if board is None:
                expires = expires_at(windows[change.window])
                until = int(expires.timestamp()) if expires else 0
                board = boards[change.window, scope] = Change(change.window, scope, until, [], [])
            board.put.extend(put)
            board.drop.extend(change.drop)
    return list(boards.values())


def _unseen(effect: Effect) -> list[Change]:
    some = [change for change in effect.boards if change.is_unseen]
    return [Change(change.window, scope, 0, [], [], unseen=True) for change in some for scope in change.scopes]
