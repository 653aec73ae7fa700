"""Games and modes declared by many servers in the same moment are declared once."""

import pytest

from leaderboards.models import Mode
from leaderboards.services.config_file import config_apply
from leaderboards.services.modes import mode_declare
from leaderboards.wire import ModeDeclaration
from tests.at_once import at_once
from tests.factories import make_game


@pytest.mark.django_db(transaction=True)
def test_a_new_mode_declared_by_eight_servers_at_once_is_one_mode() -> None:
    game = make_game("arena")
    for slug in ("a", "b", "c"):
        outcomes = at_once(
            lambda _, slug=slug: [mode_declare(game=game, slug=slug, wanted=ModeDeclaration())[1].outcome]
        )
        assert sorted(outcomes) == [["created"]] + [["unchanged"]] * 7


@pytest.mark.django_db(transaction=True)
def test_a_new_game_declared_by_eight_files_at_once_is_one_game_with_all_their_modes() -> None:
    def declare(number: int) -> list[str]:
        declared = {"games": {"arena": {"modes": {"solo": {}, f"own-{number}": {}}}}}
        return [change.outcome for change in config_apply(declared=declared)]

    outcomes = at_once(declare)
    assert sorted(outcomes) == [["created"] * 3] + [["unchanged", "unchanged", "created"]] * 7
    assert Mode.objects.count() == 9
