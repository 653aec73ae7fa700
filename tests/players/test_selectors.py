"""Players are found by how a name begins, whatever is typed."""

import pytest

from players.selectors import players_beginning
from tests.factories import make_game, make_player

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("nov", ["a", "b"]),  # as the names follow each other
        ("NOVA_", ["b"]),
        ("c", ["c"]),  # an id
        ("100%", ["c"]),
        ("%", []),
        ("_", []),
        ("\\", ["d"]),
        ("", []),
        ("nova\0", []),
    ],
)
def test_by_how_a_name_begins_in_whatever_case_or_by_the_whole_id(typed: str, found: list[str]) -> None:
    game = make_game()
    for player_id, name in {"a": "novalis", "b": "Nova_1", "c": "100% Carl", "d": "\\o/"}.items():
        make_player(game, player_id, display_name=name)
    make_player(make_game("other"), "e", display_name="Nova")
    assert players_beginning(game=game.pk, text=typed, most=20) == found


def test_no_more_than_are_asked_for() -> None:
    game = make_game()
    for number in range(5):
        make_player(game, f"nova-{number}", display_name="Nova")
    assert len(players_beginning(game=game.pk, text="nova", most=3)) == 3
