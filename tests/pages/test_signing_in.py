"""Players come in by a link that their game hands out: who may, for how long, and where to."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import jwt
import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.core.cache import caches
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings

from config.errors import Unavailable
from config.sessions import SessionStore
from leaderboards.live.looks import Papers, watch_of
from leaderboards.live.messages import Message
from players import tokens
from players.models import Game
from players.services import player_erase, player_revoke_tokens
from players.sessions import LASTS, MOST_GAMES, session_enter, session_player
from tests.factories import make_game, make_mode, make_player, make_token, record_of
from tests.pages.people import Person, committed, text_of
from tests.silence import REFUSING, Silent

pytestmark = pytest.mark.django_db
HOME = "/g/arena"


@pytest.fixture
def arena() -> Game:
    game = make_game("arena", public=False)
    make_mode(game)
    make_player(game, "p-1", display_name="Nova")
    return game


def _is_in(person: Person) -> bool:
    answer = person.get(HOME)
    assert answer.status_code in {200, 401}
    assert ("Signed in as Nova" in text_of(answer)) == (answer.status_code == 200)
    return answer.status_code == 200


def test_a_link_opens_a_private_game_to_its_player_and_the_button_closes_it(arena: Game) -> None:
    person, token = Person(), make_token(arena, "p-1")
    refused = person.get(HOME)
    assert refused.status_code == 401
    assert "This game is private" in text_of(refused)
    entered = person.get(f"{HOME}/enter?token={token}")
    assert (entered.status_code, entered["Location"]) == (302, f"{HOME}/players/p-1")
    assert (entered["Referrer-Policy"], "no-store" in entered["Cache-Control"]) == ("no-referrer", True)
    shown = person.get(HOME)
    assert "Signed in as Nova" in text_of(shown)
    assert "private" in shown["Cache-Control"]
    assert "Cookie" in shown["Vary"]
    assert token not in shown.content.decode()
    left = person.post(f"{HOME}/leave", {"csrfmiddlewaretoken": person.csrf(HOME), "next": "/"})
    assert (left.status_code, left["Location"]) == (302, "/")
    assert not _is_in(person)


def test_nobody_is_signed_out_by_another_page(arena: Game) -> None:
    person = Person()
    person.enter(arena, "p-1")
    assert person.get(f"{HOME}/leave").status_code == 405
    assert person.post(f"{HOME}/leave", {}).status_code == 403, "without the form's token"
    assert _is_in(person)


def _tokens(arena: Game) -> dict[str, str]:
    other, now, secret = make_game("other"), timezone.now(), arena.signing_secret
    claims = {"iss": "arena", "sub": "p-1", "typ": "player", "iat": int(now.timestamp())}
    with time_machine.travel(now - timedelta(hours=2), tick=False):
        expired = make_token(arena, "p-1")
    return {
        "none": "",
        "garbage": "not.a.token",
        "too long": "x" * 5000,
        "expired": expired,
        "without an end": jwt.encode(claims, secret, algorithm="HS256"),
        "of another game": make_token(other, "p-1"),
        "signed by another game": jwt.encode(
            claims | {"exp": int(now.timestamp()) + 60}, other.signing_secret, algorithm="HS256"
        ),
        "for an attempt": tokens.attempt_token(
            game="arena", player_id="p-1", secret=secret, now=now, ttl=60, mode="solo", cap="5"
        ),
        "unsigned": jwt.encode(claims | {"exp": int(now.timestamp()) + 60}, "", algorithm="none"),
    }


def test_any_other_token_signs_nobody_in_and_says_what_to_do(arena: Game) -> None:
    for kind, token in _tokens(arena).items():
        person = Person()
        answer = person.get(f"{HOME}/enter", data={"token": token, "next": "/"})
        assert answer.status_code == 403, kind
        assert "ask it for a new one" in text_of(answer), kind
        assert answer["Referrer-Policy"] == "no-referrer", kind
        assert "sessionid" not in person.client.cookies, kind
        assert not _is_in(person), kind


def test_an_api_key_in_a_link_signs_nobody_in(arena: Game) -> None:
    assert Person().get(f"{HOME}/enter?token=rung_abc_def").status_code == 403
    assert Person().get(f"/g/nowhere/enter?token={make_token(arena, 'p-1')}").status_code == 403


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/g/arena/solo/daily?scope=region:eu", "/g/arena/solo/daily?scope=region:eu"),
        ("https://evil.example/", None),
        ("//evil.example/", None),
        ("/\\evil.example/", None),
        ("\\\\evil.example", None),
        ("///evil.example", None),
        ("javascript:alert(1)", None),
        ("http:evil.example", None),
        ("\t//evil.example", None),
        ("", None),
    ],
)
def test_the_link_leads_to_a_page_of_ours_and_nowhere_else(arena: Game, asked: str, led: str | None) -> None:
    query = {"token": make_token(arena, "p-1"), "next": asked}
    assert Person().get(f"{HOME}/enter", data=query)["Location"] == (led or f"{HOME}/players/p-1")


def test_who_has_never_played_comes_in_too_and_sees_the_game(arena: Game) -> None:
    person = Person()
    assert person.enter(arena, "p-new")["Location"] == HOME
    assert "Signed in as p-new" in person.text(HOME)


def test_a_session_that_somebody_else_knew_before_is_not_the_one_that_is_signed_in(arena: Game) -> None:
    """Session fixation: whoever planted the cookie has nothing of it."""
    person, other = Person(), make_game("other")
    make_player(other, "q-1")
    person.enter(other, "q-1")
    known = person.client.cookies["sessionid"].value
    person.enter(arena, "p-1")
    assert person.client.cookies["sessionid"].value != known
    planted = Person()
    planted.client.cookies["sessionid"] = known
    assert not _is_in(planted)
    assert session_player(person.client.session, "other") == "q-1", "one session may know players of several games"


def test_a_session_knows_so_many_games_and_no_more(arena: Game) -> None:
    person = Person()
    games = [make_game() for _ in range(MOST_GAMES + 2)]
    for game in [arena, *games]:
        person.enter(game, "p-1")
    known = [game.slug for game in [arena, *games] if session_player(person.client.session, game.slug)]
    assert known == [game.slug for game in games[2:]], "those entered last"


def test_a_session_ends_after_twelve_hours_whatever_is_looked_at(arena: Game) -> None:
    person, other = Person(), make_game("other")
    person.enter(arena, "p-1")
    begun = timezone.now()
    with time_machine.travel(begun + LASTS - timedelta(minutes=1), tick=False):
        assert _is_in(person)
        person.enter(other, "q-1")  # which keeps the session, but not this part of it
    with time_machine.travel(begun + LASTS + timedelta(minutes=1), tick=False):
        assert not _is_in(person)
        assert session_player(person.client.session, "other") == "q-1"


def test_a_session_ends_with_the_players_tokens(arena: Game) -> None:
    person, player = Person(), arena.players.get()
    person.enter(arena, "p-1")
    with committed():
        player_revoke_tokens(player=player, at=timezone.now())
    assert not _is_in(person)
    with time_machine.travel(timezone.now() + timedelta(seconds=2), tick=False):
        person.enter(arena, "p-1")  # with a token made since
        assert _is_in(person)


def test_a_session_ends_with_the_player_and_does_not_come_back_with_the_id(arena: Game) -> None:
    person, record = Person(), record_of(arena)
    person.enter(arena, "p-1")
    with committed():
        player_erase(game=record, player_id="p-1", at=timezone.now())
    assert not _is_in(person)
    make_player(arena, "p-1", display_name="Nova")
    assert not _is_in(person), "the id is another player's now"


def test_a_session_ends_with_the_secret_that_signed_its_token(arena: Game) -> None:
    person = Person()
    person.enter(arena, "p-1")
    arena.signing_secret = "0" * 64
    with committed():
        arena.save()
    assert not _is_in(person)


def test_a_player_of_one_game_is_nobody_in_another(arena: Game) -> None:
    other = make_game("other", public=False)
    make_mode(other)
    person = Person()
    person.enter(arena, "p-1")
    for path in ("/g/other", "/g/other/solo/daily", "/g/other/solo/integrate", "/g/other/players/p-1"):
        answer = person.get(path)
        assert answer.status_code == 401, path
        assert "Signed in as" not in text_of(answer)


def test_a_name_on_the_page_is_text_and_never_markup(arena: Game) -> None:
    arena.players.update(display_name="<script>alert(1)</script>")
    person = Person()
    person.enter(arena, "p-1")
    told = person.get(HOME).content.decode()
    assert "&lt;script&gt;alert(1)" in told
    assert "<script>alert" not in told


@contextmanager
def _cache_at(url: str, settings: Settings) -> Iterator[None]:
    own = settings.CACHES
    settings.CACHES = {name: {**one, "LOCATION": url} for name, one in own.items()}
    yield
    settings.CACHES = own


@pytest.fixture(params=["silent", "refusing"])
def away(request: pytest.FixtureRequest, silent: Silent) -> str:
    return silent.url if request.param == "silent" else REFUSING


def test_without_the_cache_nobody_is_signed_in_and_all_are_told_to_come_back(arena: Game, settings: Settings) -> None:
    """Django itself tries ten thousand times to keep a session that cannot be kept."""
    User.objects.create_user("ops", password="a long password", is_staff=True)
    person, operator = Person(), Person()
    csrf = operator.csrf("/admin/login/")
    fields = {"username": "ops", "password": "a long password", "csrfmiddlewaretoken": csrf}
    token = make_token(arena, "p-1")
    with _cache_at(REFUSING, settings):
        for answer in (person.get(f"{HOME}/enter?token={token}"), operator.post("/admin/login/", fields)):
            assert (answer.status_code, answer["Retry-After"]) == (503, "1")
            assert "Out of reach just now" in text_of(answer)
            assert "sessionid" not in answer.cookies


def test_a_cache_that_is_away_for_a_while_signs_nobody_out(arena: Game, settings: Settings, away: str) -> None:
    person, operator, shown = Person(), Person(), make_game("shown")
    person.enter(arena, "p-1")
    person.enter(shown, "p-1")
    operator.client.force_login(User.objects.create_superuser("ops"))
    with _cache_at(away, settings):
        public, private, admin = person.get("/g/shown"), person.get(HOME), operator.get("/admin/")
    assert (public.status_code, private.status_code, admin.status_code) == (200, 401, 302)
    assert "Signed in as" not in text_of(public)
    assert [answer.cookies for answer in (public, private, admin) if "sessionid" in answer.cookies] == []
    assert _is_in(person)
    assert "Signed in as p-1" in person.text("/g/shown")
    assert operator.get("/admin/").status_code == 200


def test_who_signs_out_or_in_without_the_cache_is_told_to_do_it_again(
    arena: Game, settings: Settings, away: str
) -> None:
    person, other = Person(), make_game("other")
    person.enter(arena, "p-1")
    fields = {"csrfmiddlewaretoken": person.csrf(HOME), "next": "/"}
    with _cache_at(away, settings):
        left = person.post(f"{HOME}/leave", fields)
        entered = person.get(f"/g/other/enter?token={make_token(other, 'q-1')}")
    for answer in (left, entered):
        assert (answer.status_code, "sessionid" in answer.cookies) == (503, False)
    assert _is_in(person)
    assert person.post(f"{HOME}/leave", fields).status_code == 302
    assert not _is_in(person)


def test_a_session_that_could_not_be_read_is_not_written_over(arena: Game, settings: Settings, away: str) -> None:
    """The cache may be back before the request is over."""
    person, other = Person(), make_game("other")
    person.enter(arena, "p-1")
    with _cache_at(away, settings):
        session = SessionStore(person.client.cookies["sessionid"].value)
        assert session_player(session, "arena") is None
    vars(session)["_cache"] = caches["sessions"]  # which is there again
    with pytest.raises(Unavailable):
        session_enter(session, make_token(other, "q-1"), game="other", now=timezone.now())
    session["any"] = "thing"
    with pytest.raises(UpdateError):
        session.save()
    assert _is_in(person)


def test_a_socket_that_was_opened_with_a_session_does_not_become_nobodys(
    arena: Game, settings: Settings, away: str
) -> None:
    person = Person()
    person.enter(arena, "p-1")
    papers = Papers(session=person.client.cookies["sessionid"].value)
    follow = Message(op="follow", id="me", game="arena", mode="solo")
    with _cache_at(away, settings), pytest.raises(Unavailable):
        watch_of(papers, follow)
    assert watch_of(papers, follow).followed == "p-1"


def test_a_command_makes_such_a_link(arena: Game, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_token", "arena", "p-1", "--link", "https://rung.example/")
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://rung.example/g/arena/enter?token=")
    person = Person()
    assert person.get(link.removeprefix("https://rung.example")).status_code == 302
    assert _is_in(person)
