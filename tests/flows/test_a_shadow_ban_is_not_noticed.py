"""A shadow ban begins, holds and ends without the player noticing, and what is kept for others is kept from it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import Settings

from config.recall import changes
from leaderboards import tops
from leaderboards.fastlane import pages
from leaderboards.models import Mode
from leaderboards.services.corrections import bans_follow
from players.models import Ban
from tests.client import ApiClient
from tests.doors import Doors
from tests.factories import make_mode
from tests.hearing import all_heard, guarded
from tests.leaderboards.spine import drained
from tests.shadowed import GHOST, Play, Reader, World
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
TOP = "/leaderboards/alltime"
PLAYS = [Play(n, n // 2, 1, "") for n in range(4, 9)]
LISTED = ["p-8", "p-6", "p-7", "p-4", "p-5"]
OTHERS = ["p-8", "p-6", "p-7", "p-4"]
RANKINGS = [("unique", 1), ("unique", 3), ("competition", 3), ("dense", 1)]


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Doors:
    return Doors(monkeypatch)


def _world(*, ranking: str = "unique", shards: int = 1, now: datetime | None = None) -> World:
    return World({"ranking": ranking}, shards, now or datetime.now(UTC))


def _played(**kind: Any) -> World:
    world = _world(**kind)
    world.play(PLAYS)
    return world


def _listed(doors: Doors, world: World, who: str) -> list[str]:
    _, _, board = Reader(doors, world, who).told(TOP)
    assert board["total"] == len(board["entries"])
    assert [entry["rank"] for entry in board["entries"]] == list(range(1, board["total"] + 1))
    return [entry["player_id"] for entry in board["entries"]]


@pytest.mark.parametrize(("ranking", "shards"), RANKINGS)
@pytest.mark.parametrize("who", ["key", "ghost"])
def test_whoever_waits_for_the_boards_is_told_exactly_where_it_would_stand(
    api: ApiClient, ranking: str, shards: int, who: str
) -> None:
    told = []
    for banned in (True, False):
        world = _world(ranking=ranking, shards=shards)
        Mode.objects.filter(pk=world.mode.pk).update(submit="open")
        world.play(PLAYS)
        if banned:
            world.ban()
        with drained(world.mode):
            told.append([_waited(api, world, who, score) for score in (1, 3, 9, 3)])
    assert told[0] == told[1]
    assert {one["status"] for one in told[0]} == {"committed"}


def _waited(api: ApiClient, world: World, who: str, score: int) -> Any:
    headers = {"Authorization": world.credentials[who] or "", "Prefer": "wait=10"}
    body = {"player_id": f"p-{GHOST}", "score": score}
    answer = api("POST", f"/v1/games/{world.game.slug}/modes/solo/scores", headers=headers, json=body)
    told = answer.json()
    aside = ("version", "attempt_id", "windows")  # of two games, and perhaps of two days
    return {name: value for name, value in told.items() if name not in aside} | {"http": answer.status_code}


@pytest.mark.parametrize(("ranking", "shards"), RANKINGS)
def test_a_ban_that_the_boards_do_not_follow_yet_shows_the_player_once(doors: Doors, ranking: str, shards: int) -> None:
    now = datetime.now(UTC)
    world, free = (_played(ranking=ranking, shards=shards, now=now) for _ in range(2))
    Ban.objects.create(player=world.players[GHOST], kind=Ban.Kind.SHADOW, reason="cheated")
    told = [Reader(doors, one, "ghost").briefly() for one in (world, free)]
    for one in told:
        one.pop(f"{TOP}?scope=level:1")
    assert told[0] == told[1]


def test_who_is_alone_in_a_mode_stands_first_of_one_and_the_version_tells_of_each_score(doors: Doors) -> None:
    world = _world()
    world.ban()
    versions = []
    for score in (3, 4):
        world.play([Play(GHOST, score, 1, "")])
        _, _, standing = Reader(doors, world, "ghost").ask(f"{TOP}/me")
        assert (standing["rank"], standing["total"], standing["score"]) == (1, 1, score)
        versions.append(standing["version"])
    assert versions[1] > versions[0]
    assert _listed(doors, world, "key") == []


def test_its_end_shows_the_player_to_all_and_never_takes_it_from_itself(doors: Doors) -> None:
    noon = midday()
    with time_machine.travel(noon, tick=False):
        world = _played(now=noon)
        world.ban(ends_at=noon + timedelta(minutes=10))
        assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (LISTED, OTHERS)
    with time_machine.travel(noon + timedelta(minutes=10), tick=False):
        assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (LISTED, OTHERS), "a moment behind"
        bans_follow(now=noon + timedelta(minutes=10))
        world.rest()
        assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (LISTED, LISTED)
    with time_machine.travel(noon + timedelta(minutes=20), tick=False):
        assert _listed(doors, world, "ghost") == LISTED


def test_a_shadow_of_another_mode_hides_nobody_here(doors: Doors) -> None:
    world = _played()
    world.ban(mode=make_mode(world.game, "duel"))
    assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (LISTED, LISTED)
    world.ban(mode=world.mode)
    assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (LISTED, OTHERS)


@pytest.mark.parametrize("kind", [Ban.Kind.BAN, Ban.Kind.HIDDEN])
def test_who_is_banned_openly_too_does_not_see_itself_either(doors: Doors, kind: Ban.Kind) -> None:
    world = _played()
    world.ban()
    world.ban(kind)
    assert (_listed(doors, world, "ghost"), _listed(doors, world, "key")) == (OTHERS, OTHERS)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("first", ["ghost", "other"])
def test_what_is_kept_for_one_reader_is_not_shown_to_another(
    doors: Doors, settings: Settings, monkeypatch: pytest.MonkeyPatch, shards: int, first: str
) -> None:
    settings.WEB_PROCESSES = 2  # which share pages
    world = _played(shards=shards)
    world.ban()
    all_heard()
    with guarded(monkeypatch, "leaderboards.tops", "leaderboards.fastlane.pages"):
        assert changes.epoch is not None
        tops.forget()
        pages.forget()
        expected = {"ghost": LISTED, "other": OTHERS, "nobody": OTHERS, "key": OTHERS}
        for who in (first, "other", "ghost", "nobody", "ghost", "key"):
            assert _listed(doors, world, who) == expected[who]


def test_a_players_own_attempts_say_nothing_of_it(api: ApiClient) -> None:
    told = []
    for banned in (True, False):
        world = _played()
        if banned:
            world.ban()
        path = f"/v1/games/{world.game.slug}/players/p-{GHOST}/attempts"
        answer = api.get(path, headers={"Authorization": world.credentials["ghost"] or ""})
        told.append([(one["state"], one["reasons"], one["score"]) for one in answer.json()["attempts"]])
    assert told[0] == told[1] == [("accepted", [], GHOST // 2)]
