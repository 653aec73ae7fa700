"""Commands of operators: what is printed can be used as it is, what is wrong is one sentence and exit code 1."""

import io
import os
import subprocess
import sys
from typing import Any

import jwt
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from config import heartbeat
from players import lookups
from players.models import ApiKey
from players.scopes import Scope
from players.tokens import player_claims
from tests.client import ApiClient
from tests.factories import make_game
from tests.live import ROOT

pytestmark = pytest.mark.django_db


def _said(command: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def _manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- create_key ----------------------------------------------------------------------------------------------------


def test_create_key_prints_a_key_that_works_and_nothing_else(api: ApiClient) -> None:
    make_game("arena", public=False)
    text = _said("create_key", "arena")
    assert text.endswith("\n")
    assert len(text.split()) == 1
    assert api.get("/v1/games/arena", credential=text.strip()).status_code == 200
    assert set(ApiKey.objects.get().scopes) == {"submit", "read", "manage", "moderate"}


def test_create_key_gives_the_scopes_that_are_asked_for() -> None:
    make_game("arena")
    text = _said("create_key", "arena", "--scopes", "read,submit", "--label", "match server")
    record = lookups.key(text.strip())
    assert record is not None
    assert record.scopes == {Scope.SUBMIT, Scope.READ}
    assert ApiKey.objects.get().label == "match server"


def test_create_key_refuses_a_scope_that_there_is_not() -> None:
    make_game("arena")
    with pytest.raises(CommandError, match=r"^Scopes are submit, read, manage, moderate; write is not one of them\.$"):
        _said("create_key", "arena", "--scopes", "read,write")
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("command", [("create_key",), ("show_secret",), ("create_token", "p-1")])
def test_a_game_that_is_not_there_is_answered_with_those_that_are(command: tuple[str, ...]) -> None:
    name, *rest = command
    with pytest.raises(CommandError, match=r"^There is no game 'aerna'\. Games here: none yet\.$"):
        _said(name, "aerna", *rest)
    make_game("arena")
    make_game("zoo")
    with pytest.raises(CommandError, match=r"^There is no game 'aerna'\. Games here: arena, zoo\.$"):
        _said(name, "aerna", *rest)


# --- show_secret and create_token ----------------------------------------------------------------------------------


def test_show_secret_prints_what_the_games_own_servers_sign_with(api: ApiClient) -> None:
    make_game("arena", public=False)
    secret = _said("show_secret", "arena").strip()
    claims = {"iss": "arena", "sub": "p-1", "typ": "player", "exp": int(timezone.now().timestamp()) + 60}
    token = jwt.encode(claims, secret, algorithm="HS256")
    assert api.get("/v1/games/arena", credential=token).status_code == 200


def test_create_token_prints_a_token_that_works(api: ApiClient) -> None:
    make_game("arena", public=False)
    text = _said("create_token", "arena", "p-1")
    assert len(text.split()) == 1
    answer = api.put("/v1/games/arena/players/p-1", credential=text.strip(), json={"display_name": "Nova"})
    assert (answer.status_code, answer.json()["display_name"]) == (201, "Nova")


def test_create_token_lives_as_long_as_asked() -> None:
    game = make_game("arena")
    token = _said("create_token", "arena", "p-1", "--ttl", "86400").strip()
    assert player_claims(token, secret=game.signing_secret, now=timezone.now()).player_id == "p-1"
    claims = _claims(token, game.signing_secret)
    assert claims["exp"] - claims["iat"] == 86400


def test_create_token_makes_attempt_tokens_with_an_exact_cap() -> None:
    game = make_game("arena")
    claims = _claims(
        _said(
            "create_token", "arena", "p-1", "--attempt", "solo", "--cap", "9007199254740991.5", "--ttl", "60"
        ).strip(),
        game.signing_secret,
    )
    assert {name: claims[name] for name in ("iss", "sub", "typ", "mode", "cap")} == {
        "iss": "arena",
        "sub": "p-1",
        "typ": "attempt",
        "mode": "solo",
        "cap": "9007199254740991.5",
    }
    assert claims["exp"] - claims["iat"] == 60
    assert len(claims["jti"]) == 36


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["p-1", "--ttl", "0"], "--ttl is from 1 to 86400 seconds."),
        (["p-1", "--ttl", "86401"], "--ttl is from 1 to 86400 seconds."),
        (["a/b"], "A player_id is one segment of a path"),
        (["p-1", "--cap", "5"], "--cap goes with --attempt MODE."),
        (["p-1", "--attempt", "solo"], "--attempt needs --cap N"),
        (["p-1", "--attempt", "solo", "--cap", "lots"], "--attempt needs --cap N"),
        (["p-1", "--attempt", "solo", "--cap", "inf"], "--cap is a finite number."),
    ],
)
def test_create_token_says_what_is_wrong(arguments: list[str], sentence: str) -> None:
    make_game("arena")
    with pytest.raises(CommandError) as refused:
        _said("create_token", "arena", *arguments)
    assert str(refused.value).startswith(sentence)


def _claims(token: str, secret: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, secret, algorithms=["HS256"])
    return claims


# --- doctor --------------------------------------------------------------------------------------------------------


def test_doctor_says_that_all_is_well() -> None:
    heartbeat.note("worker")
    heartbeat.note("beat")
    said = _said("doctor")
    assert said.rstrip().endswith("All is well.")
    for name in ("database", "boards", "broker", "channels", "cache", "workers", "beat", "migrations"):
        assert f"ok    {name}" in said, said


def test_doctor_names_what_is_wrong_without_a_password(settings: Settings) -> None:
    settings.BROKER_URL = "redis://rung:hunter2@127.0.0.1:1/0"
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"^Not well: broker, workers, beat\.$"):
        call_command("doctor", stdout=out)
    assert "WRONG broker" in out.getvalue()
    assert "BROKER_URL redis://rung:…@127.0.0.1:1/0" in out.getvalue()
    assert "hunter2" not in out.getvalue()


def test_doctor_notices_more_connections_than_the_server_takes(settings: Settings) -> None:
    heartbeat.note("worker")
    heartbeat.note("beat")
    settings.WEB_THREADS = 100_000
    with pytest.raises(CommandError, match=r"^Not well: connections\.$"):
        _said("doctor")


def test_doctor_leaves_that_to_a_pooler_where_there_is_one(settings: Settings) -> None:
    heartbeat.note("worker")
    heartbeat.note("beat")
    settings.WEB_THREADS, settings.DATABASE_POOLER = 100_000, True
    assert "a pooler is between" in _said("doctor")


def test_doctor_exits_with_1_and_no_traceback_when_the_database_is_away() -> None:
    done = _manage("doctor", DATABASE_URL="postgresql://rung:hunter2@127.0.0.1:1/rung")
    assert done.returncode == 1
    assert "WRONG database" in done.stdout
    assert done.stderr.strip().startswith("CommandError: Not well: database")
    assert "hunter2" not in done.stdout + done.stderr
