"""Games and modes declared by many servers in the same moment are declared once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from config.errors import Unavailable
from leaderboards import commit
from leaderboards.models import Mode
from leaderboards.services.config_file import config_apply
from leaderboards.services.modes import mode_declare
from leaderboards.wire import ModeDeclaration
from tests.at_once import at_once
from tests.factories import make_game, make_mode
from tests.leaderboards.test_spine import submit


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


@pytest.mark.django_db(transaction=True)
def test_a_first_score_read_by_rules_that_change_meanwhile_is_not_logged_by_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mode = make_mode(make_game("arena"))
    write = commit._write  # noqa: SLF001

    def change_then_write(*args: Any) -> Any:
        at_once(lambda _: make_mode(mode.game, decimals=2), threads=1)
        monkeypatch.undo()
        return write(*args)

    monkeypatch.setattr(commit, "_write", change_then_write)
    with pytest.raises(Unavailable):  # 5 would have been 0.05
        submit(mode, "p-1", 5, datetime.now(UTC), 1)
    assert Mode.objects.get().first_score_at is None
    assert not submit(Mode.objects.select_related("game").get(), "p-1", 5, datetime.now(UTC), 1).duplicate
