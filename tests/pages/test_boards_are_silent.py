"""A server that hangs costs a page one wait, however many boards are on it: there are few threads for pages."""

import pytest
from pytest_django import Settings

from config import recall
from leaderboards import happenings
from leaderboards.happenings import Happened
from leaderboards.models import Mode
from leaderboards.pages.home import _MODES
from tests.factories import make_game, make_mode
from tests.pages.people import Person, play
from tests.silence import Silent, silent_server

pytestmark = pytest.mark.django_db(transaction=True)
AWAY = "The boards do not answer just now."


@pytest.fixture
def modes() -> list[Mode]:
    """Of two games, with a score in each."""
    made = [make_mode(game, f"mode-{n}") for game in (make_game("arena"), make_game("other")) for n in range(_MODES)]
    for mode in made:
        play(mode, ("p-1", 5))
    return made


@pytest.fixture
def feeds(monkeypatch: pytest.MonkeyPatch) -> list[Mode]:
    """Whose feed the cache is asked for. It is listened to all the while, so that connections say nothing."""
    asked, recent = list[Mode](), happenings.recent

    def counted(mode: Mode, ghost: int | None) -> list[Happened]:
        asked.append(mode)
        return recent(mode, ghost)

    monkeypatch.setattr(happenings, "recent", counted)
    return asked


@pytest.mark.usefixtures("modes")
@pytest.mark.parametrize(
    ("address", "parts"), [("/", (2 * _MODES, 1)), ("/g/arena", (_MODES, 1)), ("/g/arena/players/p-1", (1, 0))]
)
def test_a_page_waits_once_for_boards_that_are_silent(
    feeds: list[Mode], settings: Settings, silent: Silent, address: str, parts: tuple[int, int]
) -> None:
    assert AWAY not in Person().text(address)
    recall.forget()
    feeds.clear()
    settings.CACHE_URL = silent.url
    with silent_server() as boards:
        settings.VALKEY_URL = boards.url
        shown = Person().text(address)
        assert boards.tries() == 1
    assert (shown.count(AWAY), len(feeds)) == parts


def test_boards_of_one_mode_that_are_being_made_again_hide_no_others(modes: list[Mode]) -> None:
    Mode.objects.filter(pk=modes[0].pk).update(generation=7)
    assert Person().text("/g/arena").count(AWAY) == 1
