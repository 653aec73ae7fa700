"""Logs: JSON in production, readable in a terminal, the request's id in every line, no secret in any."""

import io
import json
import logging
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from config import logs
from config.request_context import begin
from players import tokens
from players.keys import new_key
from tests import live

KEY = new_key().text
TOKEN = tokens.player_token(game="a", player_id="p", secret="s" * 64, now=datetime(2026, 4, 5, tzinfo=UTC), ttl=60)
SECRETS = {
    "an API key": (f"no key {KEY} here", KEY.rpartition("_")[2]),
    "an API key after an encoded space": (f"/v1/games/x%20{KEY}", KEY.rpartition("_")[2]),
    "an API key at the beginning of a line": (f"these:\n{KEY}", KEY.rpartition("_")[2]),
    "a token": (f"Bearer {TOKEN}", TOKEN.partition(".")[2]),
    "a token at the beginning of a line": (f"these:\n{TOKEN}", TOKEN.rpartition(".")[2]),
    "a password in a URL": ("cannot reach redis://:hunter2@valkey:6379/0", "hunter2"),
    "a password with signs in a URL": ("cannot reach postgresql://rung:hun@xyzzy'2\"@db/rung", "xyzzy"),
    "a one-time code": ("GET /admin/enter?code=Zm9vYmFy-_x HTTP/1.1", "Zm9v"),
    "a one-time code in quotes": ('"GET /admin/enter?code=Zm9vYmFy-_x"', "Zm9v"),
    "a token in a query": ("/ws?a=1&token=xyz.def.ghi", "xyz"),  # as no request's id has it: those are hexadecimal
}
Said = Callable[[], str]


@pytest.fixture(params=[True, False], ids=["json", "terminal"])
def json_lines(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def said(json_lines: bool) -> Iterator[Said]:
    """What the handlers of a process with these settings would write."""
    formatter = dict(logs.dict_config(json=json_lines, level="INFO")["formatters"]["rung"])
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter.pop("()")(**formatter))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield written.getvalue
    root.removeHandler(handler)
    root.setLevel(level)


def test_a_request_that_django_finds_suspicious_orders_no_traceback(web: live.Web) -> None:
    """A stranger could fill the log with them."""
    before = len(web.said())
    sent = {f"field-{number}": "1" for number in range(1100)}  # more than DATA_UPLOAD_MAX_NUMBER_FIELDS
    assert httpx.post(f"{web.origin}/language", data=sent, timeout=20).status_code == 400
    said = web.said()[before:]
    assert "path=/language" in said
    assert "Traceback" not in said


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_has_the_request_id_be_it_ours_or_a_librarys(said: Said, json_lines: bool) -> None:
    begin("id-of-the-request")
    structlog.get_logger("rung.request").info("request", status=200)
    logging.getLogger("some.library").warning("took %s s", 3)
    lines = said().splitlines()
    assert len(lines) == 2
    assert all("id-of-the-request" in line for line in lines)
    if json_lines:
        ours, theirs = _lines(said())
        assert (ours["event"], ours["status"], ours["request_id"]) == ("request", 200, "id-of-the-request")
        assert (theirs["event"], theirs["logger"], theirs["level"]) == ("took 3 s", "some.library", "warning")


def test_a_terminal_gets_no_json(said: Said, json_lines: bool) -> None:
    logging.getLogger("some.library").warning("took %s s", 3)
    assert said().startswith("{") is json_lines
    assert "took 3 s" in said()


@pytest.mark.parametrize("what", SECRETS)
def test_a_secret_is_never_written_however_it_gets_there(said: Said, json_lines: bool, what: str) -> None:
    text, secret = SECRETS[what]
    structlog.get_logger("ours").info(text)
    structlog.get_logger("ours").info("value", path=text, nested={"deep": [text]})
    logging.getLogger("theirs").warning("%s", text)
    try:
        raise ValueError(text)  # noqa: TRY301 - it is the traceback that is looked at
    except ValueError:
        structlog.get_logger("ours").exception("failed")
        logging.getLogger("theirs").exception("failed")
    assert "ValueError" in said()
    assert secret not in said()
    assert "…" in said()
    if json_lines:
        assert len(_lines(said())) == 5, "taking the secret out broke a line"


def test_what_is_no_secret_stays_readable() -> None:
    for line in ("redis://127.0.0.1:6379/0", "rung_0123abcd_…", "mail a@b.example", "http://h:1/x?codes=7"):
        assert logs.without_secrets(line) == line
    assert logs.without_secrets(f"key {KEY}!") == f"key {KEY[:14]}…!"


def test_a_line_break_in_a_value_forges_no_line(said: Said, json_lines: bool) -> None:
    forged = "/a\r\n2026-04-05T00:00:00Z [info] all is well\x1b[2J"
    structlog.get_logger("ours").info("request", path=forged)
    logging.getLogger("theirs").warning("Forbidden: %s", forged)
    lines = said().rstrip("\n").split("\n")
    assert len([line for line in lines if not line.startswith("    | ")]) == 2, "what goes on is marked as such"
    assert len(lines) == (2 if json_lines else 3)
    assert "\x1b" not in said()
    assert "\r" not in said()


@pytest.mark.django_db(transaction=True)
def test_each_line_that_production_writes_is_json_and_a_request_can_be_followed_through_it(tmp_path: Path) -> None:
    environment = {"RUNG_ENV": "production", "SECRET_KEY": secrets.token_urlsafe(48), "ALLOWED_HOSTS": "127.0.0.1"}
    environment |= {"RUNG_HOME": str(tmp_path), "RUNG_HTTPS": "0"}
    with live.web(tmp_path, **environment) as web:
        for path in (f"/v1/games/x%0Aforged%20{KEY}", f"/v1/games?token={TOKEN}"):
            headers = {"X-Request-Id": "followed", "Authorization": f"Bearer {KEY}"}
            answer = httpx.get(web.origin + path, headers=headers, timeout=60)
            assert answer.headers["X-Request-Id"] == "followed"
    lines = _lines(web.said())
    followed = [line for line in lines if line.get("request_id") == "followed"]
    assert [line["path"] for line in followed if line["event"] == "request"] == [
        f"/v1/games/x%0Aforged%20{KEY[:14]}…",
        "/v1/games",
    ]
    assert KEY.rpartition("_")[2] not in web.said()
    assert TOKEN not in web.said()
