"""What is remembered is forgotten everywhere at once, and nothing is remembered that could not be forgotten."""

import time
from collections.abc import Callable

import httpx
import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import Settings

from config import recall
from config.recall import Recall, changes
from players.models import ApiKey
from players.services import key_revoke
from tests.cutting import connections_cut
from tests.factories import make_game, make_key
from tests.hearing import all_heard
from tests.live import Web


class Loads:
    """Counts how often it is asked; what it answers can be changed."""

    def __init__(self, value: str | None = "first") -> None:
        self.value = value
        self.count = 0

    def __call__(self, key: str) -> str | None:
        self.count += 1
        return self.value


@pytest.fixture
def _listening() -> None:
    all_heard()


pytestmark = pytest.mark.usefixtures("_listening")


def test_what_was_looked_up_is_remembered() -> None:
    loads = Loads()
    memory = Recall(loads)
    assert [memory.get("a") for _ in range(5)] == ["first"] * 5
    assert loads.count == 1


def test_it_is_forgotten_as_soon_as_something_changes() -> None:
    loads = Loads()
    memory = Recall(loads)
    memory.get("a")
    loads.value = "second"
    recall.forget()
    assert memory.get("a") == "second"


def test_it_is_forgotten_by_itself_after_a_while() -> None:
    loads = Loads()
    memory = Recall(loads, seconds=0.05)
    memory.get("a")
    time.sleep(0.1)
    memory.get("a")
    assert loads.count == 2


def test_what_does_not_exist_is_not_remembered_so_that_a_new_key_works_at_once() -> None:
    loads = Loads(None)
    memory = Recall(loads)
    assert memory.get("a") is None
    loads.value = "made"
    assert memory.get("a") == "made"


def test_a_change_during_a_look_up_is_not_remembered_as_it_was_before() -> None:
    def load(key: str) -> str:
        if not seen:
            recall.forget()  # committed by another while this one read the old row
        seen.append(key)
        return "old" if len(seen) == 1 else "new"

    seen: list[str] = []
    memory = Recall(load)
    assert memory.get("a") == "old"
    assert memory.get("a") == "new"


def test_it_remembers_no_more_than_it_may() -> None:
    memory = Recall(Loads(), size=10)
    for number in range(1000):
        memory.get(str(number))
        assert len(memory._kept) <= 10  # noqa: SLF001 - the memory itself is what is bounded


def test_nothing_is_remembered_while_changes_cannot_be_heard_nor_what_was_remembered_before(
    settings: Settings,
) -> None:
    loads = Loads()
    memory = Recall(loads)
    memory.get("a")
    real = settings.CACHE_URL
    settings.CACHE_URL = "redis://127.0.0.1:1/" + real.rpartition("/")[2]  # it will not come back there
    connections_cut(real, "pubsub")
    assert _eventually(lambda: changes.epoch is None), "did not notice"
    loads.value = "second"
    assert [memory.get("a") for _ in range(3)] == ["second"] * 3
    assert loads.count == 4
    recall.forget()
    assert changes.epoch is None, "a change of its own does not make the deaf hear those of others"

    settings.CACHE_URL = real
    assert _eventually(lambda: changes.epoch is not None), "did not come back"
    loads.value = "third"
    assert [memory.get("a") for _ in range(3)] == ["third"] * 3
    assert loads.count == 5


def test_a_lost_connection_is_made_again() -> None:
    before = changes.epoch
    connections_cut(settings.CACHE_URL, "pubsub")
    assert _eventually(lambda: changes.epoch not in {before, None})


def test_a_key_that_another_process_remembers_is_refused_there_as_soon_as_it_is_revoked(web: Web) -> None:
    game = make_game("arena", public=False)
    took = (_seconds_until_refused(web, make_key(game)) for _ in range(3))
    assert any(seconds < 3 for seconds in took), "not heard, only forgotten in its time; a busy machine has three tries"


def _seconds_until_refused(web: Web, key: str) -> float:
    own = ApiKey.objects.filter(revoked_at=None)
    row = own.get()
    real = bytes(row.secret_hash)

    def status() -> int:
        return caller.get("/v1/games/arena").status_code

    def remembered() -> bool:
        """Changed behind its back, without a word to anyone, it still opens: so it is remembered."""
        own.update(secret_hash=real)
        assert status() == 200
        own.update(secret_hash=b"another")
        return status() == 200

    with httpx.Client(base_url=web.origin, headers={"Authorization": f"Bearer {key}"}, timeout=60) as caller:
        assert _eventually(remembered), "the key is not remembered at all"
        own.update(secret_hash=real)
        key_revoke(key=row, at=timezone.now())
        revoked = time.monotonic()
        assert _eventually(lambda: status() == 401)
        return time.monotonic() - revoked


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen
