"""What is read from several shards is of one moment, however much is asked, whoever writes, wherever the shards are."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from django.conf import settings
from pytest_django import Settings

from config import health, valkey
from leaderboards import ranking, tops, whereabouts
from leaderboards.boards import store
from leaderboards.boards.board import Board, board_named
from leaderboards.boards.store import Change, Slot
from leaderboards.errors import BoardsUnavailable
from leaderboards.models import Mode, Stream
from tests.cluster import Cluster, wait
from tests.factories import make_game, make_mode
from tests.hearing import guarded

pytestmark = pytest.mark.django_db
T = TypeVar("T")
SHARDS = [Slot(1, shard, 1) for shard in range(4)]


class Writer(threading.Thread):
    """To one shard after the other, again and again: no shard is ever ahead of one that is written before it."""

    def __init__(self, slots: list[Slot], *, pause: float = 0.0) -> None:
        super().__init__(daemon=True)
        self.slots, self.pause, self.number, self.ended = slots, pause, 0, threading.Event()
        for slot in slots:
            store.built(slot, store.begin(slot), 0, at=1)
        self.write()

    def write(self) -> None:
        self.number += 1
        for slot in self.slots:
            put = [(self.number, slot.shard + 4)]  # whose shard it is
            store.apply(slot, self.number, [Change("alltime", "global", 0, put, [])], at=1, width=0)

    def run(self) -> None:
        while not self.ended.wait(self.pause):
            self.write()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def _board() -> Board:
    mode = make_mode(make_game("arena"), tie_break="none")
    now = datetime.now(UTC)
    Mode.objects.update(shards=4, first_score_at=now)
    mode.refresh_from_db()
    Stream.objects.bulk_create(Stream(mode=mode, shard=shard, seq=1) for shard in range(4))
    return board_named(mode=mode, window="alltime", scope="global", at=now)


def test_no_shard_of_one_server_is_read_later_than_another() -> None:
    members = [store.member(player) for player in range(1000)]  # more than a server takes in at a gulp
    with Writer(SHARDS):
        for _ in range(300):
            marks = [answer.mark for answer in store.read("places", SHARDS, "alltime", "global", *members)]
            assert marks == sorted(marks, reverse=True)
            assert marks[0] - marks[-1] <= 1


def _is_of_one_moment(scores: list[int]) -> bool:
    return scores == sorted(scores, reverse=True) and scores[0] - scores[-1] <= 1


@pytest.fixture(params=["from primaries", "from replicas too"])
def readable(request: pytest.FixtureRequest, wherever_boards_are: None, settings: Settings) -> Board:
    settings.READ_REPLICAS = request.param == "from replicas too"
    return _board()


def _answers(ask: Callable[[], T], *, many: int) -> Iterator[T]:
    """A board that changes faster than it can be read is refused; not always, however slow the machine is."""
    refused = 0
    for _ in range(many):
        try:
            yield ask()
        except BoardsUnavailable:
            refused += 1
    assert refused < many


def test_a_page_and_its_version_are_of_one_moment(readable: Board) -> None:
    with Writer(readable.slots, pause=0.004):
        for found in _answers(lambda: ranking.page(readable, offset=0, limit=10), many=150):
            scores = {entry.player: entry.score for entry in found.entries}
            assert _is_of_one_moment([scores[player] for player in (4, 5, 6, 7)])
            assert found.version == sum(scores.values())


def test_a_shared_top_and_its_version_are_of_one_moment(readable: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tops, "SECONDS", 0.0)  # made anew for each
    with guarded(monkeypatch, "leaderboards.tops"), Writer(readable.slots, pause=0.004):
        assert tops.serves(readable, upto=10)
        for found in _answers(lambda: tops.page(readable, offset=0, limit=10), many=80):
            scores = {entry.player: entry.score for entry in found.entries}
            assert _is_of_one_moment([scores[player] for player in (4, 5, 6, 7)])
            assert found.version == sum(scores.values())


def test_a_players_rank_is_of_one_moment(readable: Board) -> None:
    with Writer(readable.slots, pause=0.015):  # two questions need as long a calm
        for page, (found,) in _answers(lambda: whereabouts.around(readable, [(7, 3)]), many=100):
            assert found is not None
            scores = [entry.score for entry in [*found.above, found.own]]
            assert found.own.rank == 4
            assert _is_of_one_moment(scores)
            assert page.version == sum(scores)


def test_a_server_that_lost_the_functions_is_given_them(on_a_cluster: Cluster) -> None:
    board = _board()
    Writer(board.slots)
    for node in on_a_cluster.primaries():
        node.client.execute_command("FUNCTION FLUSH")
    assert ranking.page(board, offset=0, limit=10).total == 4
    assert all(node.client.execute_command("FUNCTION LIST") for node in on_a_cluster.primaries()), "each, at once"


def test_a_replica_that_lags_answers_what_it_knows_and_who_waits_asks_the_primary(
    on_a_cluster: Cluster, settings: Settings
) -> None:
    settings.READ_REPLICAS = True
    board = _board()
    writer = Writer(board.slots)
    wait(lambda: _versions(board) == {4})
    with on_a_cluster.replicas_behind():
        writer.write()
        assert _versions(board) == {8}, "of several shards: as the primaries are"
        alone = _first_shard(board)
        assert _versions(alone) <= {1, 2}, "of one: as whoever answers is, and that may be the primary each time"
        assert _versions(replace(alone, fresh=True)) == {2}
    wait(on_a_cluster.is_whole)
    wait(lambda: _versions(alone) == {2})


def _versions(board: Board) -> set[int]:
    """Of as many answers that every node has been asked."""
    return {ranking.page(board, offset=0, limit=10).version for _ in range(10)}


def _first_shard(board: Board) -> Board:
    mode = Mode.objects.get(pk=board.mode.pk)
    mode.shards = 1
    return replace(board, mode=mode)


def test_a_shard_costs_one_trip_and_several_one_to_each_node_and_a_look_at_the_marks(
    on_a_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = _board()
    Writer(board.slots)
    whereabouts.standing(board, 7)  # every connection has been made
    nodes = {valkey.client(settings.VALKEY_URL).get_node_from_key(slot.own_keys[0]).name for slot in board.slots}
    assert len(nodes) > 1
    sent: list[str] = []
    kind = valkey.redis.connection.AbstractConnection
    send = kind.send_packed_command

    def noted(itself: Any, command: Any, check_health: bool = True) -> None:
        sent.append(f"{itself.host}:{itself.port}")
        send(itself, command, check_health=check_health)

    monkeypatch.setattr(kind, "send_packed_command", noted)
    ranking.page(_first_shard(board), offset=0, limit=10)
    assert len(sent) == 1
    sent.clear()
    ranking.page(board, offset=0, limit=10)
    assert sorted(sent) == sorted([*nodes] * 2)
    sent.clear()
    whereabouts.standing(board, 7)
    assert sorted(sent) == sorted([*nodes] * 2), "what is asked second tells of the first"


def test_doctor_and_readyz_see_every_primary(on_a_cluster: Cluster) -> None:
    assert health.readiness().checks["boards"].detail == "3 primaries answer"
