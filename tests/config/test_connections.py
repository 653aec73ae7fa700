"""Which connections are closed, when and why. As callers meet it: tests/flows/test_nobody_holds_a_connection.py"""

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from config.serving import connections as module
from config.serving.connections import Connection, Connections


class Transport:
    """As much of a connection's other side as is looked at."""

    def __init__(self) -> None:
        self.aborted = False
        self.unsent = 0

    def abort(self) -> None:
        self.aborted = True

    def get_write_buffer_size(self) -> int:
        return self.unsent


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


Open = Callable[[str], Connection]


def _opening(house: Connections, loop: asyncio.AbstractEventLoop) -> Open:
    return lambda address: house.open(Transport(), (address, 1), loop)


def _is_open(*some: Connection) -> list[bool]:
    return [not one.transport.aborted for one in some]


def test_a_full_house_closes_who_never_asked_then_who_asks_nothing_and_nobody_with_a_key(
    loop: asyncio.AbstractEventLoop,
) -> None:
    house = Connections(most=4, share=None)
    enter = _opening(house, loop)
    server, asking, idle, silent = (enter(f"203.0.113.{number}") for number in range(4))
    house.prove(server)
    for one in (server, asking, idle):
        house.finished(one)
    asking.asks = True
    newcomers = [enter("203.0.113.9")]
    assert _is_open(server, asking, idle, silent, *newcomers) == [True, True, True, False, True]
    house.finished(newcomers[0])
    newcomers.append(enter("203.0.113.9"))
    assert _is_open(server, asking, idle, *newcomers) == [True, True, False, True, True]
    assert len(house) == 4


def test_keys_keep_three_quarters_of_the_house_and_leave_room_for_others(loop: asyncio.AbstractEventLoop) -> None:
    house = Connections(most=8, share=None)
    enter = _opening(house, loop)
    servers = [enter("203.0.113.1") for _ in range(8)]
    for one in servers:
        house.finished(one)
        house.prove(one)
    late = [enter("203.0.113.3")]
    house.finished(late[0])
    late.append(enter("203.0.113.4"))
    assert _is_open(*servers) == [True] * 6 + [False, False]
    assert _is_open(*late) == [True, True]
    assert len(house) == 8


def test_an_address_has_a_share_and_its_own_oldest_gives_way(loop: asyncio.AbstractEventLoop) -> None:
    house = Connections(most=100, share=3)
    enter = _opening(house, loop)
    other = enter("198.51.100.1")
    mine = [enter("203.0.113.1") for _ in range(3)]
    house.finished(mine[0])  # which makes it the newest
    mine.append(enter("203.0.113.1"))
    assert _is_open(other, *mine) == [True, True, False, True, True]
    for one in mine[2:]:
        house.prove(one)
    mine += [enter("203.0.113.1"), enter("203.0.113.1")]
    assert _is_open(*mine) == [True, False, True, True, True, True]


def test_neighbours_in_one_network_of_ipv6_are_one_address(loop: asyncio.AbstractEventLoop) -> None:
    house = Connections(most=100, share=1)
    enter = _opening(house, loop)
    first, elsewhere = enter("2001:db8::1"), enter("2001:db8:0:1::1")
    second = enter("2001:db8::2")
    assert _is_open(first, elsewhere, second) == [False, True, True]


def test_each_wait_has_its_clock(loop: asyncio.AbstractEventLoop) -> None:
    known = Connection(Transport(), "203.0.113.1", 100.0)
    known.patience = 1.0
    assert [known.overdue(155), known.overdue(156)] == [None, "idle"]
    known.finished = True
    assert [known.overdue(175), known.overdue(176)] == [None, "idle"]
    known.kind = "head"
    assert [known.overdue(110), known.overdue(111)] == [None, "slow_head"]
    known.kind = "answer"
    assert known.overdue(10_000) is None
    known.kind = "body"
    assert [known.overdue(120), known.overdue(121)] == [None, "slow_body"]
    known.body = 10 * module.BODY_RATE
    assert [known.overdue(130), known.overdue(131)] == [None, "slow_body"]
    known.body = 1000 * module.BODY_RATE
    assert [known.overdue(220), known.overdue(221)] == [None, "slow_body"]
    known.kind = "socket"
    assert known.overdue(10_000) is None
    known.message_since = 200.0
    assert [known.overdue(210), known.overdue(211)] == [None, "slow_message"]
    known.kind = "shut"
    assert [known.overdue(130), known.overdue(131)] == [None, "shut"]


def test_the_time_that_we_do_not_read_is_not_the_callers(loop: asyncio.AbstractEventLoop) -> None:
    house = Connections(most=10, share=None)
    known = _opening(house, loop)("203.0.113.1")
    known.kind, known.flow = "body", type("Flow", (), {"read_paused": True})
    for second in range(60):
        house.look(known.began + second - second)
    assert _is_open(known) == [True]
    known.flow.read_paused = False
    house.look(known.began + module.BODY_SECONDS + 1)
    assert _is_open(known) == [False]


def test_who_takes_nothing_of_an_answer_is_closed_and_who_takes_it_slowly_is_not(
    loop: asyncio.AbstractEventLoop,
) -> None:
    house = Connections(most=10, share=None)
    enter = _opening(house, loop)
    now = loop.time()
    silent, slow, streaming = enter("203.0.113.1"), enter("203.0.113.2"), enter("203.0.113.3")
    for one in (silent, slow, streaming):
        one.kind, one.asks, one.transport.unsent = "answer", True, 10 * module.READER_BYTES
    for second in range(0, 40, 5):
        slow.transport.unsent -= module.READER_BYTES
        streaming.drained = True
        house.look(now + second)
    assert _is_open(silent, slow, streaming) == [False, True, True]
    assert len(house) == 2


def test_answers_that_nobody_reads_take_so_much_and_no_more(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_UNSENT", 100)
    house = Connections(most=10, share=None)
    enter = _opening(house, loop)
    server, large, small = enter("203.0.113.1"), enter("203.0.113.2"), enter("203.0.113.3")
    house.prove(server)
    for one, unsent in ((server, 80), (large, 60), (small, 20)):
        one.kind, one.asks, one.transport.unsent = "answer", True, unsent
    house.look(loop.time())
    house.look(loop.time())  # a round ends when the next one begins
    assert _is_open(server, large, small) == [True, False, True]


def test_a_round_over_all_connections_takes_several_looks_and_forgets_nobody(loop: asyncio.AbstractEventLoop) -> None:
    house = Connections(most=1000, share=None)
    enter = _opening(house, loop)
    everybody = [enter(f"203.0.113.{number}") for number in range(95)]
    late = everybody[0].began + module.FIRST_SECONDS + 1
    house.look(late, parts=20)
    assert sum(_is_open(*everybody)) == 90
    for _ in range(19):
        house.look(late, parts=20)
    newcomer = enter("203.0.113.200")
    for _ in range(40):
        house.look(late, parts=20)
    assert not any(_is_open(*everybody, newcomer))


def test_connections_that_came_together_are_not_closed_together() -> None:
    """Else sixteen thousand come back together, and everybody waits."""
    many = [Connection(Transport(), "203.0.113.1", 100.0) for _ in range(1000)]
    closed = [sum(one.overdue(100 + seconds) == "idle" for one in many) for seconds in (27, 34, 41, 48, 56)]
    assert closed[0] == 0
    assert closed[-1] == 1000
    assert all(150 < after - before < 350 for before, after in pairwise(closed))
