"""Code to paste: the body that a mode's rules ask for."""

from typing import Any

import pytest

from leaderboards.models import Mode
from leaderboards.pages.snippets import KEY, PLAYER_TOKEN, score_snippets, submission
from players.models import Game


def _mode(**rules: Any) -> Mode:
    return Mode(game=Game(slug="arena", title="Arena"), slug="solo", title="Solo", **rules)


@pytest.mark.parametrize(
    ("rules", "body"),
    [
        ({}, {"player_id": "p-17", "score": 1236}),
        ({"min_score": 0, "max_score": 1000}, {"player_id": "p-17", "score": 618}),
        ({"decimals": 3, "min_score": 20_000, "max_score": 600_000}, {"player_id": "p-17", "score": 378.44}),
        ({"submit": "open"}, {"score": 1236}),
        ({"submit": "token"}, {"score": 1236, "attempt_token": "THE_ATTEMPT_TOKEN"}),
        (
            {
                "min_score": 0,
                "max_score": 1000,
                "dimensions": ["country", "level"],
                "bounds": {"level:1": {"high": 100}},
            },
            {"player_id": "p-17", "score": 61, "dimensions": {"level": "1"}},
        ),
        (
            {"min_score": 0, "max_score": 1000, "dimensions": ["level"], "values": {"level": ["ice", "1"]}},
            {"player_id": "p-17", "score": 618, "dimensions": {"level": "ice"}},
        ),
    ],
)
def test_the_body_is_the_one_that_the_rules_ask_for(rules: dict[str, Any], body: dict[str, Any]) -> None:
    assert submission(_mode(**rules)) == body


def test_a_key_is_written_where_servers_send_and_nowhere_else() -> None:
    for submit, credential in {"trusted": KEY, "open": PLAYER_TOKEN, "token": PLAYER_TOKEN}.items():
        for snippet in score_snippets(_mode(submit=submit), origin="https://rung.example", key=KEY):
            assert credential in snippet.code, (submit, snippet.language)
            assert "https://rung.example/v1/games/arena/modes/solo/scores" in snippet.code
            assert ("attempt_id" in snippet.code) == (submit != "token" and snippet.language != "curl")
