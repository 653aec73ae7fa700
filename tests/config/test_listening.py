"""Whoever listens knows when it was deaf, however its connection was lost, and hears again by itself."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from config import valkey
from tests.forgetting import Way, forgetful

CHANNEL = "rung:test:listening"


@pytest.fixture
def way(settings: Settings) -> Iterator[Way]:
    with forgetful(settings.CACHE_URL) as way:
        settings.CACHE_URL = way.url
        yield way


@pytest.fixture
def told(way: Way) -> Iterator[list[str]]:
    """What a listener was told, in its order."""
    told, until = list[str](), threading.Event()
    listener = threading.Thread(
        target=valkey.listen,
        args=[CHANNEL],
        kwargs={
            "on_message": told.append,
            "on_connected": lambda: told.append("connected"),
            "on_lost": lambda: told.append("lost"),
            "until": until,
        },
    )
    listener.start()
    yield told
    until.set()
    listener.join()


def _eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen


def test_a_connection_that_was_lost_without_a_word_is_noticed_and_made_again(way: Way, told: list[str]) -> None:
    assert _eventually(lambda: told == ["connected"])
    way.forget()
    assert _eventually(lambda: told == ["connected", "lost", "connected"]), told
    valkey.publish(CHANNEL, "news")
    assert _eventually(lambda: told[-1] == "news")


def test_a_server_that_has_nothing_to_say_is_asked_now_and_then_and_kept(way: Way, told: list[str]) -> None:
    assert _eventually(lambda: told == ["connected"])
    assert _eventually(lambda: way.asked >= 2)
    valkey.publish(CHANNEL, "news")
    assert _eventually(lambda: told[-1] == "news")
    assert told == ["connected", "news"]
