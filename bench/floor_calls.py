"""The calls that the product makes to Valkey for a batch, by the bare client: packed before, sent one after another."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

import redis

from bench import mix
from leaderboards.boards import store
from leaderboards.boards.store import Change, Slot
from leaderboards.rules.instants import micros
from leaderboards.rules.mode import ModeRules
from leaderboards.rules.placing import Placing, placing
from leaderboards.rules.windows import Window, kind_named, timezone_named, window_at

_LIVES_ON = timedelta(days=7)


@contextmanager
def acts(job: Any, environ: Mapping[str, str]) -> Iterator[Sequence[Callable[[], object]]]:
    server = redis.Redis.from_url(environ["VALKEY_URL"].replace("valkey://", "redis://"))
    slot = Slot(job.filled.modes["floor"], 0, job.filled.generations["floor"])
    mark = int(server.hget(slot.own_keys[0], "mark") or 0)
    connection: Any = server.connection_pool.get_connection()
    try:
        calls = [connection.pack_command(*call) for call in _calls(job, slot, mark)]
        yield [partial(_send, connection, call) for call in calls]
    finally:
        connection.disconnect()


def _send(connection: Any, call: Any) -> None:
    connection.send_packed_command(call)
    answer = connection.read_response()
    if answer[0] != b"ok":
        raise RuntimeError(f"A batch was not applied: {answer!r}")


def _calls(job: Any, slot: Slot, mark: int) -> Iterator[Sequence[object]]:
    """Overheard from the product's own store, so that they are what it sends."""
    now = datetime.now(UTC)
    rules = ModeRules(min_score=0, max_score=mix.MOST_SCORE)
    windows = {kind: window_at(kind_named(kind), now, timezone_named("UTC")) for kind in mix.WINDOWS}
    places = {kind: placing(rules, window, epoch=now - timedelta(days=30)) for kind, window in windows.items()}
    seen: dict[tuple[int, str], int] = {}
    for number, drawn in enumerate(job.drawn(), mark + 1):
        changed = _changes(job.filled, mix.changes(drawn, players=job.filled.players, seen=seen), windows, places)
        with patch("config.valkey.ask", return_value=[[b"ok", number]]) as ask:
            store.apply(slot, number, changed, at=micros(now), width=0)
        function, names, args = ask.call_args.args[1][0]
        yield ["FCALL", function, len(names), *names, *args]


def _changes(
    filled: Any,
    found: Mapping[tuple[int, str], mix.Draw],
    windows: Mapping[str, Window],
    places: Mapping[str, Placing],
) -> list[Change]:
    at = micros(datetime.now(UTC))
    boards: dict[tuple[str, str], Change] = {}
    for (number, kind), one in sorted(found.items()):
        window = windows[kind]
        expires = int((window.ends_at + _LIVES_ON).timestamp()) if window.ends_at else 0
        for scope in ("global", f"country:{mix.country(number)}"):
            change = boards.setdefault((kind, scope), Change(window.id, scope, expires, [], []))
            change.put.append((places[kind].place(one.score, at), filled.first_player - 1 + number))
    return list(boards.values())
