"""What waits is asked together and answered to each; nobody's going, failing or flooding is another's trouble."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from leaderboards.fastlane.coalescer import Coalescer, Full


class House:
    """Runs when it is let, and remembers what was asked together. A call that is an exception is raised."""

    def __init__(self, *, threads: int = 1, open_: bool = False, **bounds: Any) -> None:
        self.batches: list[list[Any]] = []
        self.gate = threading.Event()
        if open_:
            self.gate.set()
        self.coalescer: Coalescer[Any, Any] = Coalescer(
            "test", self._act, failed=lambda _, error: ("failed", str(error)), threads=threads, **bounds
        )

    def _act(self, calls: Sequence[Any]) -> list[Any]:
        assert self.gate.wait(10)
        self.batches.append(list(calls))
        for call in calls:
            if isinstance(call, Exception):
                raise call
        return [("told", call) for call in calls]

    def ask(self, call: Any, tenant: str = "arena") -> "asyncio.Task[Any]":
        async def answer() -> Any:
            return await self.coalescer.ask(tenant, call)

        return asyncio.create_task(answer())

    async def busy(self) -> "asyncio.Task[Any]":
        """One call is being run, so that what comes next has to wait."""
        first = self.ask("first")
        await asyncio.sleep(0)
        return first

    def is_empty(self) -> bool:
        one = self.coalescer
        return not (one._queues or one._waiting or one._running) and one._free > 0  # noqa: SLF001


def run(act: Callable[[], Awaitable[None]]) -> None:
    """In a loop of its own, in which nothing may be left over unheard."""
    unheard: list[Any] = []

    async def heard() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: unheard.append(told))
        await act()

    asyncio.run(heard())
    gc.collect()
    assert unheard == []


def test_what_waits_is_run_once_and_answered_in_order() -> None:
    async def act() -> None:
        house = House()
        first = await house.busy()
        others = [house.ask(number) for number in range(100)]
        await asyncio.sleep(0)
        house.gate.set()
        assert await asyncio.gather(first, *others) == [("told", "first"), *(("told", n) for n in range(100))]
        assert house.batches == [["first"], list(range(100))]
        assert house.is_empty()

    run(act)


def test_no_more_are_run_together_than_may_be() -> None:
    async def act() -> None:
        house = House(at_once=10)
        tasks = [await house.busy(), *(house.ask(number) for number in range(25))]
        await asyncio.sleep(0)
        house.gate.set()
        await asyncio.gather(*tasks)
        assert [len(batch) for batch in house.batches] == [1, 10, 10, 5]

    run(act)


def test_who_goes_away_is_not_asked_for_and_keeps_nobody() -> None:
    async def act() -> None:
        house = House()
        first = await house.busy()
        gone, stays = house.ask("gone"), house.ask("stays")
        await asyncio.sleep(0)
        gone.cancel()
        first.cancel()  # while it is being run
        await asyncio.sleep(0)
        house.gate.set()
        assert await stays == ("told", "stays")
        assert house.batches == [["first"], ["stays"]]
        assert first.cancelled()
        assert gone.cancelled()
        assert house.is_empty()

    run(act)


def test_when_all_who_wait_have_gone_the_next_is_answered() -> None:
    async def act() -> None:
        house = House()
        first = await house.busy()
        others = [house.ask(number) for number in range(10)]
        await asyncio.sleep(0)
        for one in others:
            one.cancel()
        house.gate.set()
        await first
        assert await house.ask("next") == ("told", "next")
        assert house.batches == [["first"], ["next"]]
        assert house.is_empty()

    run(act)


def test_a_batch_that_raises_is_run_one_by_one_and_only_the_bad_one_fails() -> None:
    async def act() -> None:
        house = House()
        first = await house.busy()
        asked: list[Any] = [1, ValueError("bad"), 3]
        tasks = [house.ask(one) for one in asked]
        await asyncio.sleep(0)
        house.gate.set()
        await first
        assert await asyncio.gather(*tasks) == [("told", 1), ("failed", "bad"), ("told", 3)]
        assert [len(batch) for batch in house.batches] == [1, 3, 1, 1, 1]
        assert house.is_empty()

    run(act)


def test_a_batch_that_forgets_one_is_run_one_by_one() -> None:
    async def act() -> None:
        forgetful: Coalescer[int, int] = Coalescer(
            "test", lambda calls: list(calls)[:2], failed=lambda call, _: call, threads=1
        )
        tasks = [forgetful.ask("arena", n) for n in range(5)]
        assert await asyncio.wait_for(asyncio.gather(*tasks), 10) == list(range(5))

    run(act)


def test_what_cannot_be_run_at_all_is_told_to_everyone_who_waits() -> None:
    async def act() -> None:
        async def broken(call: Callable[[], Any]) -> Any:
            raise RuntimeError("no thread")

        house = House(run=broken)
        found = await asyncio.wait_for(
            asyncio.gather(*(house.ask(n) for n in range(3)), return_exceptions=True), timeout=10
        )
        assert [str(one) for one in found] == ["no thread"] * 3
        assert house.is_empty()

    run(act)


@pytest.mark.parametrize("at_once", [1, 2, 10, 64])
def test_one_with_a_thousand_calls_delays_another_by_no_more_than_the_next_batch(at_once: int) -> None:
    async def act() -> None:
        house = House(at_once=at_once)
        first = await house.busy()
        flood = [house.ask(("flood", number), "flooding") for number in range(1000)]
        await asyncio.sleep(0)
        late = house.ask("late", "modest")
        await asyncio.sleep(0)
        house.gate.set()
        await late
        before = next(index for index, batch in enumerate(house.batches) if "late" in batch)
        assert before <= 2, house.batches[: before + 1]
        await asyncio.gather(first, *flood)

    run(act)


def test_many_tenants_with_few_threads_are_taken_in_turn() -> None:
    async def act() -> None:
        house = House(at_once=2)
        tasks = [await house.busy()]
        tasks += [house.ask((tenant, n), tenant) for n in range(3) for tenant in "abcde"]
        await asyncio.sleep(0)
        house.gate.set()
        await asyncio.gather(*tasks)
        turns = [tenant for batch in house.batches[1:] for tenant, _ in batch]
        assert turns == [*"abcdeabcdeabcde"], "each once before any twice"

    run(act)


def test_where_there_is_no_room_to_wait_it_is_said_at_once() -> None:
    async def act() -> None:
        house = House(waiting=10)
        tasks = [await house.busy(), *(house.ask(n, "one") for n in range(5))]
        await asyncio.sleep(0)
        with pytest.raises(Full):
            await house.coalescer.ask("one", "too many of one")
        tasks += [house.ask(n, "another") for n in range(5)]  # whom the first leaves room
        await asyncio.sleep(0)
        with pytest.raises(Full):
            await house.coalescer.ask("third", "too many in all")
        house.gate.set()
        await asyncio.gather(*tasks)
        assert await house.ask("again", "third") == ("told", "again")
        assert house.is_empty()

    run(act)


def test_nothing_is_left_behind_of_a_thousand_tenants_and_it_runs_in_loop_after_loop() -> None:
    house = House(open_=True, threads=2)

    async def act() -> None:
        tasks = [house.ask(number, f"tenant-{number}") for number in range(1000)]
        assert await asyncio.gather(*tasks) == [("told", number) for number in range(1000)]

    for _ in range(3):
        run(act)
        assert house.is_empty()


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_a_loop_that_ends_in_the_middle_leaves_the_next_one_all_its_threads(turns: int) -> None:
    house = House(threads=2)

    async def left() -> None:
        for number in range(5):
            house.ask(number)
        for _ in range(turns):
            await asyncio.sleep(0)

    async def next_one() -> None:
        assert await asyncio.wait_for(house.ask("next"), 10) == ("told", "next")

    asyncio.run(left())
    house.gate.set()
    run(next_one)
    assert house.coalescer._free == 2  # noqa: SLF001
    assert house.is_empty()


def test_those_who_were_answered_are_waited_for_and_no_longer_than_until_all_are_back() -> None:
    async def act() -> None:
        house = House(gather=30.0)
        tasks = [await house.busy(), *(house.ask(n) for n in range(3))]
        house.gate.set()
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        early = [house.ask("one"), house.ask("two")]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in early)
        await asyncio.wait_for(asyncio.gather(*early, house.ask("three")), 10)
        assert house.batches[-1] == ["one", "two", "three"]

    run(act)
