"""A page shows avatars from hosts that the operator has named; every other one is the name's initial."""

import pytest
from pytest_django import Settings

from config import avatars
from leaderboards.models import Mode
from tests.factories import make_game, make_mode
from tests.pages.people import Person
from tests.pages.scenes import play

ADDRESS = "https://cdn.example/nova.png"


@pytest.fixture
def named(settings: Settings) -> None:
    settings.AVATAR_HOSTS = ["cdn.example", ".game.example"]


@pytest.mark.parametrize(
    "url", [ADDRESS, "https://CDN.example:8443/a", "https://game.example/a", "https://a.b.game.example/a?b#c"]
)
def test_one_of_a_named_host_is_shown(named: None, url: str) -> None:
    assert avatars.shown(url) == url


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            None,
            "http://cdn.example/a",
            "//cdn.example/a",
            "javascript:alert(1)",
            "data:image/png;base64,x",
            "https://[",
        ),
        *("https://evil.example/a", "https://cdn.example.evil.example/a", "https://evilgame.example/a"),
        *("https://cdn.example@evil.example/a", "https://evil.example/cdn.example", "https://evil.example?cdn.example"),
        *("https://xcdn.example/"),
    ],
)
def test_no_other_is(named: None, url: str | None) -> None:
    assert avatars.shown(url) == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("hosts", [[], ["cdn.example"]])
def test_a_page_tells_no_other_host_who_looks_at_it(settings: Settings, hosts: list[str]) -> None:
    settings.AVATAR_HOSTS = hosts
    mode = _board()
    for path in ("/g/arena/solo/alltime", "/g/arena/players/nova"):
        page = Person().get(path).content.decode()
        assert (f'src="{ADDRESS}"' in page) == bool(hosts), path
        assert ('data-avatars="cdn.example"' in page) == bool(hosts)
        assert "tracker.example" not in page
    assert mode.game.players.get(player_id="nova").avatar_url == ADDRESS, "the API goes on handing it out"


def _board() -> Mode:
    mode = make_mode(make_game("arena"), windows=["alltime"])
    play(mode.game, "solo", {"nova": 300, "eve": 200})
    mode.game.players.filter(player_id="nova").update(avatar_url=ADDRESS)
    mode.game.players.filter(player_id="eve").update(avatar_url="https://tracker.example/eve.png")
    return mode
