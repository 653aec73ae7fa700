"""Boards with very many members, written to Valkey directly: what PostgreSQL would need minutes for."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from leaderboards.boards import store
from leaderboards.boards.board import Board, board_named
from leaderboards.boards.store import Change
from leaderboards.models import Mode, Stream
from leaderboards.outbox import shard_of
from leaderboards.rules.instants import micros
from leaderboards.rules.placing import dense_width
from tests.factories import make_game, make_mode

_A_CALL = 5000


def make_board(shards: int = 1, **rules: Any) -> Board:
    mode = make_mode(make_game(), **rules)
    Mode.objects.filter(pk=mode.pk).update(shards=shards, first_score_at=datetime.now(UTC))
    mode.refresh_from_db()
    for shard in range(shards):
        Stream.objects.update_or_create(mode=mode, shard=shard, defaults={"seq": 1})
    return board_named(mode=mode, window="alltime", scope="global", at=datetime.now(UTC))


def fill(board: Board, scores: Iterable[int], *, number: int = 1) -> None:
    """Player n has the n-th score, and had it n microseconds after the mode began."""
    began = micros(board.mode.epoch)
    members = [(board.placing.place(score, began + player), player) for player, score in enumerate(scores, 1)]
    for slot in board.slots:
        own = [one for one in members if shard_of(one[1], board.mode.shards) == slot.shard]
        fill_slot(board, slot, own, number)


def fill_slot(board: Board, slot: store.Slot, members: Sequence[tuple[int, int]], number: int) -> None:
    token, put, width = store.begin(slot), iter(sorted(members)), dense_width(board.mode.rules)
    while some := list(islice(put, _A_CALL)):
        store.fill(slot, token, [Change(board.window.id, board.scope, 0, some, [])], width=width)
    store.built(slot, token, number, at=1)
