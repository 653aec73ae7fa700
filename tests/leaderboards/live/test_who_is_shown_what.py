"""No message to anyone who may not see it, from the moment on that they may not."""

import pytest
from django.conf import settings
from django.contrib.sessions.backends.cache import SessionStore
from django.db import connection
from django.utils import timezone

from config import recall
from leaderboards.models import Mode
from leaderboards.services.corrections import attempt_take_back
from players.models import ApiKey, Ban, Game, Player
from players.services import key_revoke, player_revoke_tokens
from players.sessions import session_enter
from tests.embedded.processes_of import wait_until
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.live.conftest import Play
from tests.live import Web
from tests.sockets import Told, follow, opened, shown, subscribe

pytestmark = pytest.mark.usefixtures("worker")


def _who(told: Told) -> list[str]:
    return [player for _, player, _ in shown(told)]


def test_a_ban_leaves_an_open_socket_within_seconds(web: Web, play: Play) -> None:
    play(nova=10, ada=5)
    with opened(web) as socket:
        socket.say(subscribe())
        socket.hear_until(lambda told: _who(told) == ["nova", "ada"])
        ban = Ban.objects.create(player=Player.objects.get(player_id="nova"), kind=Ban.Kind.BAN, reason="cheated")
        assert _who(socket.hear_until(lambda told: told["total"] == 1)[-1]) == ["ada"]
        play(ada=6)
        assert _who(socket.hear_until(lambda told: shown(told)[0][2] == 6)[-1]) == ["ada"]
        ban.delete()
        assert _who(socket.hear_until(lambda told: told["total"] == 2)[-1]) == ["nova", "ada"]


def test_a_shadow_banned_player_sees_itself_and_nobody_else_does(web: Web, play: Play, solo: Mode) -> None:
    """Banned while all of them watch, and scoring afterwards: nothing that it is shown tells of it."""
    play(nova=10, ada=5, zoe=1)
    own = make_token(solo.game, "nova")
    with opened(web) as nova, opened(web) as ada, opened(web) as nobody:
        nova.say(subscribe(token=own))
        nova.hear_until(lambda told: _who(told) == ["nova", "ada", "zoe"])
        assert nova.ask(follow(token=own))["new_rank"] == 1
        ada.ask(subscribe(token=make_token(solo.game, "ada")))
        nobody.ask(subscribe())
        Ban.objects.create(player=Player.objects.get(player_id="nova"), kind=Ban.Kind.SHADOW, reason="cheated")
        for socket in (ada, nobody):
            assert _who(socket.hear_until(lambda told: told["total"] == 2)[-1]) == ["ada", "zoe"]
        play(nova=20)
        play(ada=6)
        seen = nova.hear_until(lambda told: told["type"] == "update" and ("ada", 6) in [one[1:] for one in shown(told)])
        for told in seen:
            if told["type"] == "update":
                assert (_who(told), told["total"]) == (["nova", "ada", "zoe"], 3)
            else:
                assert (told["old_rank"], told["new_rank"], told["score"]) == (1, 1, 20)
        assert shown(seen[-1])[0] == (1, "nova", 20)
        for socket in (ada, nobody):
            heard = socket.hear_until(lambda told: shown(told)[0][2] == 6)
            assert [_who(told) for told in heard] == [["ada", "zoe"]] * len(heard)
        with opened(web) as again:
            assert _who(again.ask(subscribe(token=own))) == ["nova", "ada", "zoe"]
            assert _who(again.ask(subscribe(id="b"))) == ["ada", "zoe"]


def test_a_shadow_banned_players_own_score_is_told_at_once_and_to_it_alone(web: Web, play: Play, solo: Mode) -> None:
    """There is no sweep here: nothing else than the score itself has anything told."""
    play(nova=10, ada=5)
    own = make_token(solo.game, "nova")
    with opened(web) as nova, opened(web) as ada, opened(web) as nobody:
        nova.say(subscribe(token=own))
        nova.hear_until(lambda told: _who(told) == ["nova", "ada"])
        assert nova.ask(follow(token=own))["score"] == 10
        ada.ask(subscribe(token=make_token(solo.game, "ada")))
        nobody.ask(subscribe())
        Ban.objects.create(player=Player.objects.get(player_id="nova"), kind=Ban.Kind.SHADOW, reason="cheated")
        for socket in (ada, nobody):
            assert _who(socket.hear_until(lambda told: told["total"] == 1)[-1]) == ["ada"]
        play(nova=20)
        nova.hear_until(lambda told: told["type"] == "rank" and (told["new_rank"], told["score"]) == (1, 20))
        _take_all_back(solo, "nova")
        nova.hear_until(lambda told: told["type"] == "rank" and told["new_rank"] is None)
        play(nova=7)
        nova.hear_until(lambda told: told["type"] == "update" and shown(told) == [(1, "nova", 7), (2, "ada", 5)])
        play(ada=6)
        for socket in (ada, nobody):
            assert shown(socket.hear()) == [(1, "ada", 6)], "the next that it is told"


def _take_all_back(mode: Mode, player_id: str) -> None:
    player = Player.objects.get(player_id=player_id).pk
    with connection.cursor() as cursor:
        cursor.execute("SELECT attempt_id FROM score_attempts WHERE player_id = %s", [player])
        attempts = [attempt for (attempt,) in cursor.fetchall()]
    for attempt in attempts:
        attempt_take_back(mode=mode, player=player, attempt_id=attempt)


def test_what_may_not_be_seen_any_more_ends_with_a_word(web: Web, play: Play, solo: Mode) -> None:
    game, other = solo.game, make_game("other")
    make_mode(other)
    play(nova=10)
    with opened(web) as socket:
        socket.say(subscribe())
        socket.hear_until(lambda told: told["total"] == 1)
    with opened(web) as socket, opened(web, credential=make_key(game)) as server:
        assert socket.ask(subscribe(id="stranger"))["type"] == "snapshot"
        assert socket.ask(subscribe(id="ada", token=make_token(game, "ada")))["type"] == "snapshot"
        assert socket.ask(subscribe(id="nova", token=make_token(game, "nova")))["type"] == "snapshot"
        assert socket.ask(subscribe(id="zoe", token=make_token(game, "zoe", ttl=5)))["type"] == "snapshot"
        assert socket.ask(subscribe(id="x", token=make_token(other, "nova")))["code"] == "game_not_found"
        assert server.ask(subscribe())["type"] == "snapshot"
        Game.objects.filter(pk=game.pk).update(public=False)
        recall.forget()
        player_revoke_tokens(player=Player.objects.get(player_id="nova"), at=timezone.now())
        ended = [socket.hear(), socket.hear(), socket.hear()]
        assert {(told["type"], told["code"]) for told in ended} == {("error", "unauthenticated")}
        assert {told["id"] for told in ended} == {"stranger", "nova", "zoe"}
        play(nova=11)
        heard = socket.hear_until(lambda told: shown(told) == [(1, "nova", 11)])
        assert {told["id"] for told in heard} == {"ada"}
        server.hear_until(lambda told: told["type"] == "update")
        for one in ApiKey.objects.filter(game=game):
            key_revoke(key=one, at=timezone.now())
        told = server.hear_until(lambda told: told["type"] == "error")[-1]
        assert told["code"] == "unauthenticated"
        assert socket.ask(subscribe(id="stranger"))["code"] == "unauthenticated"
        wait_until(lambda: socket.is_quiet(seconds=0.3))


def test_a_player_signed_in_by_session_needs_no_token_until_it_signs_out(web: Web, play: Play, solo: Mode) -> None:
    Game.objects.filter(pk=solo.game_id).update(public=False)
    recall.forget()
    play(nova=10)
    session = SessionStore()
    session_enter(session, make_token(solo.game, "nova"), game="arena", now=timezone.now())
    session.save()
    with opened(web, Cookie=f"{settings.SESSION_COOKIE_NAME}={session.session_key}") as socket:
        assert socket.ask(subscribe(game="other"))["code"] == "game_not_found"
        socket.say(subscribe())
        socket.hear_until(lambda told: _who(told) == ["nova"])
        assert socket.ask(follow())["player_id"] == "nova"
        assert socket.ask(follow(id="b", player_id="ada"))["code"] == "forbidden"
        session.flush()
        recall.forget()
        assert {(told["type"], told["code"]) for told in (socket.hear(), socket.hear())} == {
            ("error", "unauthenticated")
        }
