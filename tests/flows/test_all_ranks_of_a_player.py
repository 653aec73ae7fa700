"""All boards of a player in one answer: what each of them says itself, to whoever asks."""

from random import Random
from typing import Any

import pytest
import time_machine

from leaderboards import player_ranks
from players.models import Ban
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.shadowed import GHOST, PLAYERS, Play, World
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = [("unique", 1), ("unique", 4), ("competition", 1), ("competition", 4), ("dense", 1)]
SCOPES = ("global", "region:eu", "region:na", "level:1", "level:2")
WINDOWS = ("alltime", "monthly", "weekly", "daily")
ALIKE = ("rank", "score", "achieved_at", "total", "percentile", "top_percent", "version")


def _asked(api: ApiClient, world: World, path: str, who: str) -> Any:
    credential = (world.credentials[who] or "").removeprefix("Bearer ")
    answer = api.get(f"/v1/games/{world.game.slug}/{path}", credential=credential)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _one_by_one(api: ApiClient, world: World, player: str, who: str) -> dict[tuple[str, str], Any]:
    boards = {(window, scope): f"leaderboards/{window}/players/{player}?scope={scope}"
              for window in WINDOWS for scope in SCOPES}  # fmt: skip
    found = {board: _asked(api, world, f"modes/solo/{path}", who) for board, path in boards.items()}
    return {board: {name: one[name] for name in ALIKE} for board, one in found.items() if one["rank"] is not None}


@pytest.mark.parametrize(("ranking", "shards"), KINDS)
def test_they_are_what_each_board_says(api: ApiClient, ranking: str, shards: int) -> None:
    chance = Random(shards)  # noqa: S311 - the same each time
    with time_machine.travel(midday(), tick=False):
        world = World({"ranking": ranking, "order": chance.choice(["asc", "desc"])}, shards, midday())
        world.play([Play(n % PLAYERS, chance.randint(0, 4), n, chance.choice(["", "1", "2"])) for n in range(40)])
        world.ban()
        for who in ("nobody", "other", "ghost"):
            for player in ("p-0", "p-1", f"p-{GHOST}"):
                answer = _asked(api, world, f"players/{player}/ranks", who)
                found = {(one["window"], one["scope"]): one for one in answer["ranks"]}
                assert len(found) == len(answer["ranks"])
                expected = _one_by_one(api, world, player, who)
                assert {board: {name: one[name] for name in ALIKE} for board, one in found.items()} == expected
                assert bool(expected) == (player != f"p-{GHOST}" or who == "ghost")
                for one in found.values():
                    assert (one["game"], one["mode"]) == (world.game.slug, "solo")
                    assert one["window_id"].startswith(one["window"])
                    assert (one["resets_at"] is None) == (one["window"] == "alltime")


def test_of_several_modes_in_their_order_and_only_the_players_own(api: ApiClient) -> None:
    with time_machine.travel(midday(), tick=False):
        world = World({}, 1, midday())
        make_mode(world.game, "never-played", title="Nobody yet")
        world.play([Play(0, 5, 1, "1"), Play(1, 7, 1, "2")])
        found = _asked(api, world, "players/p-1/ranks", "nobody")["ranks"]
    named = [(one["window"], one["scope"]) for one in found]
    assert named == [(window, scope) for window in WINDOWS for scope in ("global", "region:na", "level:2")]
    assert [one["rank"] for one in found] == [1] * 12
    assert _asked(api, world, "players/p-3/ranks", "nobody") == {"player_id": "p-3", "ranks": []}


def test_a_banned_player_has_none_and_levels_without_end_are_cut(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with time_machine.travel(midday(), tick=False):
        world = World({}, 1, midday())
        world.play([Play(0, n, n, str(n)) for n in range(1, 10)])
        found = _asked(api, world, "players/p-0/ranks", "nobody")["ranks"]
        levels = [one["scope"] for one in found if one["window"] == "alltime"]
        assert levels == ["global", "region:eu", *(f"level:{n}" for n in range(1, 1 + player_ranks.MOST_SUBMITTED))]
        monkeypatch.setattr(player_ranks, "MOST_BOARDS", 3)
        assert _asked(api, world, "players/p-0/ranks", "nobody")["ranks"] == found[:3]
        Ban.objects.create(player=world.players[0], reason="cheated", starts_at=world.now)
        world.rest()
        assert _asked(api, world, "players/p-0/ranks", "nobody")["ranks"] == []


def test_who_may_not_read_the_game_may_not_read_them(api: ApiClient) -> None:
    private, other = make_game("private", public=False), make_game("other")
    make_player(private, "p-1")
    path = "/v1/games/private/players/p-1/ranks"
    assert told(api.get(path)) == (401, "unauthenticated")
    assert told(api.get(path, credential=make_key(other))) == (404, "game_not_found")
    assert api.get(path, credential=make_token(private, "p-1")).json() == {"player_id": "p-1", "ranks": []}
    unknown = api.get("/v1/games/other/players/nobody%00/ranks")
    assert told(unknown) == (404, "player_not_found")
