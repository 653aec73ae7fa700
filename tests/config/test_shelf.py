"""What is kept on a shelf is what it was loaded as, until it is told to have changed."""

import time
from collections.abc import Callable, Collection, Iterator

import pytest

from config import recall, valkey
from config.recall import Shelf, changes
from tests.hearing import all_heard


class Loads:
    """What is there, and what was asked for."""

    def __init__(self) -> None:
        self.there = {1: "one", 2: "two"}
        self.asked: list[list[int]] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(self, keys: Collection[int]) -> dict[int, str]:
        self.asked.append(sorted(keys))
        found = {key: self.there[key] for key in keys if key in self.there}
        self.meanwhile()
        return found


@pytest.fixture
def loads() -> Iterator[Loads]:
    all_heard()
    yield Loads()
    recall._shelves.pop("test", None)  # noqa: SLF001 - a shelf is there as long as its process


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen


def test_only_what_is_not_kept_is_loaded_and_all_of_it_at_once(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    assert shelf.get([1]) == {1: "one"}
    assert shelf.get([1, 2]) == {1: "one", 2: "two"}
    assert shelf.get([2, 1]) == {1: "one", 2: "two"}
    assert shelf.get([]) == {}
    assert loads.asked == [[1], [2]]


def test_what_is_not_there_is_not_remembered_so_that_it_may_come(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    assert shelf.get([1, 3]) == {1: "one"}
    loads.there[3] = "three"
    assert shelf.get([1, 3]) == {1: "one", 3: "three"}
    assert loads.asked == [[1, 3], [3]]


def test_one_that_changes_here_is_dropped_and_the_others_stay(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    shelf.get([1, 2])
    loads.there = {1: "another", 2: "not asked for"}
    shelf.changed(1)
    assert shelf.get([1, 2]) == {1: "another", 2: "two"}


def test_one_that_changes_in_another_process_is_dropped(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    shelf.get([1, 2])
    loads.there[1] = "another"
    epoch = changes.epoch
    valkey.publish(recall.channel(), "test 1")
    assert _eventually(lambda: shelf.get([1, 2]) == {1: "another", 2: "two"})
    assert changes.epoch == epoch, "nothing else was forgotten"
    valkey.publish(recall.channel(), "unheard-of 1")
    valkey.publish(recall.channel(), "")
    assert _eventually(lambda: changes.epoch != epoch), "it still listens"


def test_all_of_it_goes_when_anything_may_have_changed(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    shelf.get([1, 2])
    recall.forget()
    shelf.get([1, 2])
    assert loads.asked == [[1, 2], [1, 2]]


@pytest.mark.parametrize("news", ["this one", "all"])
def test_what_changes_while_it_is_loaded_is_not_kept_as_it_was(loads: Loads, news: str) -> None:
    shelf = Shelf("test", loads)

    def committed_by_another() -> None:
        loads.there[1], loads.meanwhile = "new", lambda: None
        if news == "all":
            changes.hear()
        else:
            changes.hear("test 1")

    loads.meanwhile = committed_by_another
    assert shelf.get([1]) == {1: "one"}
    assert shelf.get([1]) == {1: "new"}


def test_nothing_is_kept_while_nothing_is_heard_nor_what_was_before(loads: Loads) -> None:
    shelf = Shelf("test", loads)
    shelf.get([1])
    changes._go_deaf()  # noqa: SLF001 - as when its connection is lost
    try:
        loads.there[1] = "second"
        assert [shelf.get([1]) for _ in range(3)] == [{1: "second"}] * 3
        assert len(loads.asked) == 4
    finally:
        changes.hear()
    loads.there[1] = "third"
    assert [shelf.get([1]) for _ in range(3)] == [{1: "third"}] * 3
    assert len(loads.asked) == 5


def test_it_is_loaded_again_after_its_time_and_never_holds_more_than_it_may(loads: Loads) -> None:
    shelf = Shelf("test", loads, seconds=0.05, size=10)
    shelf.get([1])
    time.sleep(0.1)
    shelf.get([1])
    assert loads.asked == [[1], [1]]
    loads.there = {number: str(number) for number in range(1000)}
    for number in range(0, 1000, 3):
        shelf.get([number, number + 1, number + 2])
        assert len(shelf._kept) <= 10  # noqa: SLF001 - the memory itself is what is bounded
