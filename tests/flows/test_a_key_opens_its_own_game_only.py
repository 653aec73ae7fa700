"""Keys, tokens and sessions: what they open, and that they open nothing else."""

import pytest
from django.test import TestCase
from django.utils import timezone

from players.models import ApiKey
from players.scopes import Scope
from players.services import key_revoke
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.hearing import all_heard

pytestmark = pytest.mark.django_db


def test_a_new_key_works_at_once(api: ApiClient) -> None:
    game = make_game("arena")
    answer = api.put("/v1/games/arena/players/p-17", credential=make_key(game), json={"display_name": "Nova"})
    assert (answer.status_code, answer.json()["display_name"]) == (201, "Nova")


def test_a_key_of_one_game_sees_nothing_of_another_be_it_public(api: ApiClient) -> None:
    mine, other = make_game("mine"), make_game("other")
    make_mode(other)
    make_player(other, "p-1")
    key = make_key(mine)
    for path in ("", "/modes/solo", "/players/p-1", "/players/p-1/export"):
        answer = api.get(f"/v1/games/other{path}", credential=key)
        assert (answer.status_code, answer.json()["code"]) == (404, "game_not_found"), path
    for answer in (
        api.put("/v1/games/other/modes/solo", credential=key, json={}),
        api.put("/v1/games/other/players/p-1", credential=key, json={}),
        api.delete("/v1/games/other/players/p-1", credential=key),
    ):
        assert answer.status_code == 404
    assert [game["game"] for game in api.get("/v1/games", credential=key).json()["games"]] == ["mine"]


def test_a_scope_that_a_key_lacks_is_forbidden(api: ApiClient) -> None:
    game = make_game("arena")
    key = make_key(game, Scope.READ, Scope.SUBMIT)
    answer = api.put("/v1/games/arena/players/p-1", credential=key, json={})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_revoked_key_is_refused_at_once_though_it_was_remembered(api: ApiClient) -> None:
    game = make_game("arena", public=False)
    key = make_key(game)
    _is_remembered(api, key)
    row = ApiKey.objects.get()
    with TestCase.captureOnCommitCallbacks(execute=True):
        key_revoke(key=row, at=timezone.now())
    answer = api.get("/v1/games/arena", credential=key)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


def test_a_private_game_is_read_with_a_key_or_a_token_and_not_without(api: ApiClient) -> None:
    game = make_game("secret", public=False)
    make_game("other")
    assert api.get("/v1/games/secret").status_code == 401
    assert api.get("/v1/games/secret", credential=make_key(game, Scope.SUBMIT)).status_code == 403
    assert api.get("/v1/games/secret", credential=make_key(game, Scope.READ)).status_code == 200
    assert api.get("/v1/games/secret", credential=make_token(game, "p-1")).status_code == 200
    assert [row["game"] for row in api.get("/v1/games").json()["games"]] == ["other"]


def test_a_player_acts_as_itself_only(api: ApiClient) -> None:
    game = make_game("arena")
    make_player(game, "p-2")
    token = make_token(game, "p-1")
    assert api.put("/v1/games/arena/players/p-1", credential=token, json={"country": "de"}).json()["country"] == "DE"
    assert api.put("/v1/games/arena/players/p-2", credential=token, json={}).status_code == 403
    assert api.delete("/v1/games/arena/players/p-2", credential=token).status_code == 403
    assert api.get("/v1/games/arena/players/p-2/export", credential=token).status_code == 403
    assert api.put("/v1/games/arena/modes/solo", credential=token, json={}).status_code == 403


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer ", "rung_x", "Bearer rung_00000000_" + "0" * 48])
def test_bad_credentials_are_refused_even_where_none_are_needed(api: ApiClient, header: str) -> None:
    make_game("arena")
    answer = api.get("/v1/games/arena", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def _is_remembered(api: ApiClient, key: str) -> None:
    all_heard()
    assert api.get("/v1/games/arena", credential=key).status_code == 200
    ApiKey.objects.update(secret_hash=b"changed behind its back")
    assert api.get("/v1/games/arena", credential=key).status_code == 200, "the key is not remembered at all"
