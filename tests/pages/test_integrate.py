"""How a game sends scores to a mode: code that works as pasted, and a page that waits for the first one."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from pathlib import Path

import httpx
import pytest
from django.conf import LazySettings
from django.core.management import call_command

from config.embedded.home import Home
from leaderboards.demo.key import demo_key
from leaderboards.models import Mode
from leaderboards.pages import integrate
from leaderboards.pages.snippets import ATTEMPT_TOKEN, KEY, LANGUAGES, PLAYER_TOKEN
from players.models import Game
from tests import live
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drained
from tests.pages.browser import Visitor
from tests.pages.people import Person, play, text_of

pytestmark = pytest.mark.django_db(transaction=True)  # who drains streams begins transactions of its own


@pytest.fixture
def arena() -> Game:
    return make_game("arena")


def _code(page: str, language: str) -> str:
    found = re.search(rf'snippet-{language}"><pre[^>]*><code>(.*?)</code>', page, re.DOTALL)
    assert found, language
    return unescape(found[1])


def _pasted(code: str, language: str) -> str:
    how = {"python": [sys.executable, "-"], "curl": ["sh", "-eu"], "javascript": ["node", "--input-type=module"]}
    done = subprocess.run(how[language], input=code, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_works_as_pasted_in_every_language_that_this_machine_speaks(arena: Game, web: live.Web) -> None:
    bounds = {"min_score": Decimal(20), "max_score": Decimal(600)}
    modes = {
        "trusted": make_mode(arena, "trusted", decimals=3, dimensions=["country", "level"], **bounds),
        "open": make_mode(arena, "open", submit="open"),
        "token": make_mode(arena, "token", submit="token"),
    }
    key, token = make_key(arena), make_token(arena, "p-17")
    for slug in modes:
        page = httpx.get(f"{web.origin}/g/arena/{slug}/integrate", timeout=60).text
        for language in LANGUAGES:
            code = _code(page, language)
            assert f"{web.origin}/v1/games/arena/modes/{slug}/scores" in code
            code = code.replace(KEY, key).replace(PLAYER_TOKEN, token)
            if slug == "token":
                vouched = re.search(r'class="snippet"><pre[^>]*><code>(.*?)</code>', page, re.DOTALL)
                assert vouched
                told = json.loads(_pasted(unescape(vouched[1]).replace(KEY, key), "curl"))
                code = code.replace(ATTEMPT_TOKEN, told["attempt_token"])
            program = {"python": sys.executable, "curl": "curl", "javascript": "node"}.get(language, "")
            if shutil.which(program) and (slug == "trusted" or language == "curl"):
                assert "accepted" in _pasted(code, language), (slug, language)
    assert Mode.objects.get(slug="trusted").first_score_at is not None


def test_a_key_is_filled_in_on_ones_own_machine_and_for_the_demo_alone(
    arena: Game, settings: LazySettings, tmp_path: Path
) -> None:
    settings.HOME = Home(tmp_path)
    demo = make_game("demo")
    for game in (arena, demo):
        make_mode(game)
    key, path = demo_key(demo), "/g/demo/solo/integrate"
    shown = Person().get(path)
    assert key in shown.content.decode()
    assert shown["Cache-Control"] == "private, no-store"
    assert "Send a test score" in text_of(shown)
    strangers = {
        "another game": (Person(), "/g/arena/solo/integrate"),
        "another machine": (Person(REMOTE_ADDR="203.0.113.9"), path),
        "behind a proxy": (Person(HTTP_X_FORWARDED_FOR="203.0.113.9"), path),
    }
    for who, (person, address) in strangers.items():
        _sees_no_key(person, address, key, who)
    for name, value in {"BIND": "0.0.0.0", "PRODUCTION": True, "DEMO": False}.items():  # noqa: S104 - what is tested
        before = getattr(settings, name)
        setattr(settings, name, value)
        _sees_no_key(Person(), path, key, name)
        setattr(settings, name, before)
    settings.ALLOWED_HOSTS = ["rung.example", "127.0.0.1"]
    answer = Person().client.get(path, headers={"host": "rung.example"})
    assert key not in answer.content.decode(), "asked for by another name"


def _sees_no_key(person: Person, path: str, key: str, who: str) -> None:
    answer = person.get(path)
    assert answer.status_code == 200, who
    assert key not in answer.content.decode(), who
    assert KEY in answer.content.decode(), who
    assert "Send a test score" not in text_of(answer), who
    sent = person.post(path, {"csrfmiddlewaretoken": "x" * 64})
    assert sent.status_code in {403, 404}, who


def test_a_button_sends_a_real_score_in_the_demo(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME = Home(tmp_path)
    monkeypatch.setattr(integrate, "_PATIENCE", 20)  # however slow the machine is
    monkeypatch.setattr(integrate, "_EVERY", 60)
    demo = make_game("demo")
    mode = make_mode(demo, min_score=0, max_score=100)
    path, person = "/g/demo/solo/integrate", Person()
    assert "Waiting for your first score" in person.text(path)
    assert person.post(path, {}).status_code == 403, "without the form's token"
    form = {"csrfmiddlewaretoken": person.csrf(path)}
    with drained(mode):
        told = text_of(person.post(path, form))
    assert "for visitor is in. Rank #1 of 1." in told
    assert "Your first score has come" in told
    assert told.count(re.findall(r"Request ([0-9a-f]{32})", told)[0]) == 2, "the request that brought it"
    again = text_of(person.post(path, form))
    assert "One test score a second is enough." in again
    assert "visitor" in person.text("/g/demo/solo/daily")


def test_who_is_signed_in_sends_test_scores_as_itself(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME = Home(tmp_path)
    monkeypatch.setattr(integrate, "_PATIENCE", 0)
    demo = make_game("demo")
    make_mode(demo, submit="open")
    person, path = Person(), "/g/demo/solo/integrate"
    person.enter(demo, "p-9")
    told = text_of(person.post(path, {"csrfmiddlewaretoken": person.csrf(path)}))
    assert "for p-9 is in." in told


def test_the_page_shows_what_happens_once_there_are_scores(arena: Game) -> None:
    mode = make_mode(arena)
    path = "/g/arena/solo/integrate"
    assert 'data-arrival="waiting"' in Person().get(f"{path}?part=arrival").content.decode()
    play(mode, ("p-1", 5))
    text = Person().text(path)
    assert "Scores are coming in" in text
    assert "Waiting for" not in text


def test_a_mode_that_is_not_there_or_private_has_no_such_page(arena: Game) -> None:
    hidden = make_game("hidden", public=False)
    make_mode(hidden)
    assert Person().get("/g/arena/nothing/integrate").status_code == 404
    assert Person().get("/g/hidden/solo/integrate").status_code == 401
    assert Person().get("/g/hidden/solo/integrate?part=arrival").status_code == 401


def test_an_open_page_turns_green_by_itself_with_the_id_of_the_request(
    arena: Game, new_visitor: Callable[..., Visitor], web: live.Web
) -> None:
    make_mode(arena)
    scripted, plain = new_visitor(), new_visitor(java_script_enabled=False)
    for visitor in (scripted, plain):
        assert visitor.visit("/g/arena/solo/integrate") == 200
        assert visitor.page.get_by_role("heading", name="Waiting for your first score").is_visible()
    assert plain.page.get_by_role("link", name="Look again").is_visible()
    plain.page.get_by_text("Python", exact=True).click()
    assert plain.page.locator(".snippet-python").is_visible(), "tabs need no script"
    sent = httpx.post(
        f"{web.origin}/v1/games/arena/modes/solo/scores",
        json={"player_id": "p-1", "score": 5},
        headers={"Authorization": f"Bearer {make_key(arena)}"},
        timeout=60,
    )
    request_id = sent.headers["x-request-id"]
    scripted.page.get_by_text(request_id).wait_for()
    assert scripted.page.get_by_role("heading", name="Your first score has come").is_visible()
    plain.page.get_by_role("link", name="Look again").click()
    plain.page.get_by_text(request_id).wait_for()
    for width, scheme in ((1440, "light"), (390, "dark")):
        scripted.look(width=width, scheme=scheme)
        assert scripted.width() <= width
        assert scripted.too_faint() == []


def test_make_up_prints_a_players_link(
    settings: LazySettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.HOME = Home(tmp_path)
    make_game("demo")
    call_command("welcome")
    assert "Player " not in capsys.readouterr().out, "there is no such player"
    Game.objects.get(slug="demo").players.create(player_id="p-1425", display_name="Sable Fox")
    call_command("welcome")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("Player ")]
    assert "(signs in as Sable Fox, today)" in line
    address = line.split()[1]
    person = Person()
    assert person.get("/" + address.split("/", 3)[3]).status_code == 302
    assert "Signed in as Sable Fox" in person.text("/g/demo")
