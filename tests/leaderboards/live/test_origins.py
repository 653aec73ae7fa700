"""Whose pages may open a socket, beside our own: those that an operator has named."""

import pytest
from pytest_django import Settings

from leaderboards.live.limits import Connects
from leaderboards.live.origins import is_served, may_connect


def _may(origin: str, host: str = "rung.example") -> bool:
    return may_connect({"headers": [(b"origin", origin.encode()), (b"host", host.encode())]})


@pytest.fixture(autouse=True)
def _friends(settings: Settings) -> None:
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["rung.example", "[::1]"], ["https://desk.example"]
    settings.ORIGINS = ["https://game.example", "https://*.studio.example", "http://lab.example:8080"]


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://rung.example", "rung.example"),
        ("https://RUNG.example:443", "rung.example"),
        ("http://rung.example:8000", "rung.example:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("https://game.example", "rung.example"),
        ("https://game.example:443", "rung.example"),
        ("https://arena.studio.example", "rung.example"),
        ("http://lab.example:8080", "rung.example"),
        ("https://desk.example", "rung.example"),
    ],
)
def test_our_own_pages_and_those_of_friends_may(origin: str, host: str) -> None:
    assert _may(origin, host)


@pytest.mark.parametrize(
    "origin",
    [
        "http://game.example",
        "https://game.example:8443",
        "https://evilgame.example",
        "https://game.example.evil.example",
        "https://evilstudio.example",
        "http://arena.studio.example",
        "http://lab.example",
        "https://rung.example:8443",
        "https://evil.example",
        "null",
        "https://[",
    ],
)
def test_nobody_else_may(origin: str) -> None:
    assert not _may(origin)


def test_a_name_that_is_not_ours_makes_nobody_ours() -> None:
    """A host that points at this machine is not one of ours for that."""
    assert not _may("https://evil.example", "evil.example")


@pytest.mark.parametrize("hosts", ["", "evil.example", "rung.example rung.example", "rung.example@evil"])
def test_whoever_names_no_origin_has_to_ask_for_one_of_our_hosts(hosts: str) -> None:
    scope = {"headers": [(b"host", host.encode()) for host in hosts.split()]}
    assert not is_served(scope)
    assert not may_connect(scope)
    assert may_connect({"headers": [(b"host", b"rung.example:8000")]})


def test_an_address_opens_so_many_sockets_at_once_and_what_is_remembered_is_bounded(settings: Settings) -> None:
    settings.SOCKETS_AN_ADDRESS = 50
    connects = Connects()
    waits = [connects.wait("203.0.113.9") for _ in range(1000)]
    assert all(wait == 0 for wait in waits[:100])
    assert sum(wait > 0 for wait in waits) > 500
    assert connects.wait("203.0.113.10") == 0
    for number in range(30_000):
        connects.wait(f"address {number}")
    assert len(connects._full_at) <= 20_000  # noqa: SLF001
