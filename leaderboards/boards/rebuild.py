"""Boards again from the standings, while scores keep arriving in the log."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from django.db import connection, transaction

from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot
from leaderboards.hot import expires_at
from leaderboards.models import Mode, Standing, Stream
from leaderboards.rules.instants import micros
from leaderboards.rules.mode import PLAYERS_OWN
from leaderboards.rules.placing import dense_width, placing
from leaderboards.rules.windows import timezone_named, window_by_id

ENTRIES_A_CALL = 5000
CALLS_AHEAD = 3  # of the server: now it is slower, now the database
_Column = Sequence[int]
Progress = Callable[[int], object]  # told how many entries were written


def silent(_: int) -> None:
    pass


def shard_rebuild(*, mode: Mode, shard: int, now: datetime) -> int | None:
    """Fills a slot that is empty or broken, with its stream held so that nothing is stamped meanwhile; its number.

    None where another has the stream: then it is being seen to.
    """
    with transaction.atomic(durable=True):
        stream = Stream.objects.select_for_update(skip_locked=True).filter(mode=mode, shard=shard).first()
        if stream is None:
            return None
        if Mode.objects.values_list("generation", flat=True).get(pk=mode.pk) != mode.generation:
            return stream.seq  # what was found broken has been replaced meanwhile
        _fill(mode, Slot(mode.pk, shard, mode.generation), stream.seq, now=now, progress=silent)
    return stream.seq


def generation_fill(*, mode: Mode, generation: int, now: datetime, progress: Progress = silent) -> None:
    """Fills every shard of a generation that nobody reads yet, from one snapshot.

    Nothing is locked: stamping goes on, and what it adds is sent afterwards.
    """
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for shard, seq in Stream.objects.filter(mode=mode).order_by("shard").values_list("shard", "seq"):
            _fill(mode, Slot(mode.pk, shard, generation), seq, now=now, progress=progress)


def _fill(mode: Mode, slot: Slot, seq: int, *, now: datetime, progress: Progress) -> None:
    store.built(slot, slot_fill(mode=mode, slot=slot, now=now, progress=progress), seq, at=micros(now))


def slot_fill(*, mode: Mode, slot: Slot, now: datetime, progress: Progress) -> str:
    """With what the standings say; the token for more, and for `built`."""
    token, width = store.begin(slot), dense_width(mode.rules)
    with connection.cursor() as cursor:
        # all players of a mode are joined and sorted: never one by one, whatever the planner knows of the tables
        cursor.execute("SET LOCAL work_mem = '64MB'; SET LOCAL enable_nestloop = off")
    with ThreadPoolExecutor(1) as sender:  # the next are read and packed while the last are on their way
        sent: deque[Future[None]] = deque()
        for changes in expected(mode, slot.shard, now):
            body = store.packed(changes)
            if len(sent) == CALLS_AHEAD:
                sent.popleft().result()
            sent.append(sender.submit(store.fill, slot, token, changes, body, width=width))
            progress(sum(len(change.put) for change in changes))
        for one in sent:
            one.result()
    return token


def expected(mode: Mode, shard: int, now: datetime, *, players: list[int] | None = None) -> Iterator[list[Change]]:
    """What the standings say, board by board, of all or of these. In score order: three times as fast to insert."""
    for window_id in _windows(mode, players):
        window = window_by_id(window_id, timezone_named(mode.timezone))
        expires = expires_at(window)
        if expires is not None and expires <= now:
            continue
        encoding = placing(mode.rules, window, epoch=mode.epoch)
        for scope, who, scores, ats in _entries(mode, shard, window_id, players):
            put = list(zip(encoding.places(scores, ats), who, strict=True))
            yield [Change(window_id, scope, int(expires.timestamp()) if expires else 0, put, [])]


def _windows(mode: Mode, players: list[int] | None) -> list[str]:
    found = Standing.objects.filter(mode=mode)
    if players is not None:
        found = found.filter(player_id__in=players)
    return list(found.order_by().values_list("window", flat=True).distinct())


def _entries(
    mode: Mode, shard: int, window: str, players: list[int] | None
) -> Iterator[tuple[str, _Column, _Column, _Column]]:
    """Scope, players, scores and times, some thousands of one scope at a time, as the server finds them."""
    for scope, condition in _scopes(mode):
        # of an inequality the planner expects a third to be left, of an equation next to nothing
        found = _streamed(
            f"""
            SELECT s.player_id, s.score, round(date_part('epoch', s.achieved_at) * 1e6)::bigint, {scope} AS scope
            FROM leaderboards_standing s
            JOIN leaderboards_placement p ON p.mode_id = s.mode_id AND p.player_id = s.player_id AND p.listed
            WHERE s.mode_id = %s AND s."window" = %s AND abs(s.player_id %% %s - %s) < 1 AND {condition}
            {"" if players is None else "AND s.player_id = ANY(%s)"}
            ORDER BY scope, s.score, s.player_id
            """,  # noqa: S608 - the names are ours
            [mode.pk, window, mode.shards, shard, *([] if players is None else [players])],
        )
        while some := list(islice(found, ENTRIES_A_CALL)):
            one_scope = some[0][3] == some[-1][3]  # as most have: they come scope by scope
            parts = [some] if one_scope else [list(rows) for _, rows in groupby(some, key=itemgetter(3))]
            for rows in parts:
                who, scores, ats, _ = zip(*rows, strict=True)
                yield rows[0][3] or "global", who, scores, ats


def _streamed(query: str, params: list[object]) -> Iterator[tuple[Any, ...]]:
    """As the server finds them; nothing else may be asked on the connection meanwhile.

    Not through a cursor of the server's, for which it never lets several processes join and sort.
    """
    with connection.cursor() as cursor:
        yield from cursor.cursor.stream(query, params, size=ENTRIES_A_CALL)


def _scopes(mode: Mode) -> Iterator[tuple[str, str]]:
    """What a standing s of a player placed at p is shown in, and where it is: one after the other costs least."""
    yield "NULL", "s.scope = ''"  # all of them: no need to say so of each
    for name in PLAYERS_OWN:
        if name in mode.dimensions:
            yield f"'{name}:' || p.{name}", f"s.scope = '' AND p.{name} <> ''"
    if not set(mode.dimensions) <= set(PLAYERS_OWN):
        yield "s.scope", "s.scope <> ''"
