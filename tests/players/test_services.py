"""Players: registered, changed, exported and erased."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.dispatch import Signal
from django.utils import timezone
from pytest_django import Settings

from players.models import Ban, Player
from players.services import player_erase, player_upsert
from players.signals import player_changed, player_erased
from players.wire import PlayerUpsert
from tests.arena import PLAYER, Arena
from tests.client import ApiClient
from tests.factories import make_game, make_player, make_token, record_of

NOVA = {"display_name": "Nova", "country": "DE", "region": "eu", "avatar_url": "https://cdn.example.com/nova.png"}


@pytest.fixture
def arena(api: ApiClient) -> Arena:
    return Arena(api, PLAYER)


# --- registering and changing ------------------------------------------------------------------------------------


def test_a_new_player_is_called_by_its_id_until_it_is_named(arena: Arena) -> None:
    made = arena.put()
    nothing = {"country": None, "region": None, "avatar_url": None}
    assert (made.status_code, made.json()) == (201, {"player_id": "p-1", "display_name": "p-1", **nothing})
    assert arena.get().json() == made.json()


def test_what_is_left_out_stays_and_null_clears(arena: Arena) -> None:
    assert arena.put(**NOVA).json() == {"player_id": "p-1", **NOVA}
    changed = arena.put(country="fr")
    assert (changed.status_code, changed.json()) == (200, {"player_id": "p-1", **NOVA, "country": "FR"})
    cleared = arena.put(country=None, region=None, avatar_url=None).json()
    assert cleared == {"player_id": "p-1", "display_name": "Nova", "country": None, "region": None, "avatar_url": None}


def test_a_name_is_trimmed_and_normalised(arena: Arena) -> None:
    assert arena.put(display_name="  Jo\u0308rg   X ").json()["display_name"] == "Jörg X"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("display_name", ""),
        ("display_name", None),
        ("display_name", "   "),
        ("display_name", "x" * 65),
        ("display_name", "a\u200bb"),
        ("display_name", "a\u202eb"),
        ("display_name", "a\nb"),
        ("country", "XX"),
        ("country", "DEU"),
        ("country", ""),
        ("region", "EU"),
        ("region", "a b"),
        ("avatar_url", "http://cdn.example.com/a.png"),
        ("avatar_url", "javascript:alert(1)"),
        ("avatar_url", "https://"),
        ("avatar_url", "https://cdn.example.com/a b.png"),
        ("avatar_url", 'https://cdn.example.com/"onload="x'),
        ("nickname", "Nova"),
    ],
)
def test_what_a_player_cannot_be_is_refused_by_field_and_changes_nothing(arena: Arena, field: str, value: Any) -> None:
    arena.put(**NOVA)
    refused = arena.put(**{"region": "na", field: value} if field != "region" else {field: value})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
    assert list(refused.json()["errors"]) == [field]
    assert arena.get().json() == {"player_id": "p-1", **NOVA}


@pytest.mark.parametrize("player_id", ["%20p", "p%0A", "a%5Cb", "%E2%80%8B", "x" * 65, "p%00"])
def test_an_id_that_nobody_could_tell_from_another_is_refused(arena: Arena, player_id: str) -> None:
    path = f"/v1/games/arena/players/{player_id}"
    assert arena.api.put(path, credential=arena.key, json={}).status_code == 400
    assert arena.get(path).json()["code"] == "player_not_found"


def polite(name: str, game: str) -> str | None:
    return f"{name} is not said in {game}." if name == "Voldemort" else None


def broken(name: str, game: str) -> str | None:
    raise RuntimeError(name)


def test_a_studio_has_its_own_say_in_names(arena: Arena, settings: Settings) -> None:
    settings.NAME_CHECKS = [f"{__name__}.broken", f"{__name__}.polite"]
    refused = arena.put(display_name="Voldemort")
    assert (refused.status_code, refused.json()["errors"]) == (
        400,
        {"display_name": ["Voldemort is not said in arena."]},
    )
    assert arena.get().status_code == 404
    assert arena.put(display_name="Tom").status_code == 201, "a check that fails keeps nobody out"


def test_a_check_is_found_by_its_dotted_path(arena: Arena, settings: Settings) -> None:
    settings.NAME_CHECKS = ["posixpath.join"]  # refuses every name, for it always has something to say
    assert arena.put(display_name="Nova").json()["errors"] == {"display_name": ["Nova/arena"]}


# --- being told --------------------------------------------------------------------------------------------------


@contextmanager
def _heard(signal: Signal) -> Iterator[list[dict[str, Any]]]:
    told: list[dict[str, Any]] = []

    def hear(**sent: Any) -> None:
        told.append(sent | {"inside": connection.in_atomic_block})

    signal.connect(hear)
    try:
        yield told
    finally:
        signal.disconnect(hear)


@pytest.mark.django_db(transaction=True)
def test_higher_floors_are_told_of_a_change_inside_its_transaction() -> None:
    game = make_game("arena")
    player = make_player(game, "p-1", country="DE", display_name="Nova")
    wanted = PlayerUpsert(country="FR", display_name="Nova")
    with _heard(player_changed) as told:
        player_upsert(game=record_of(game), player_id="p-1", wanted=wanted, at=timezone.now())
        player_upsert(game=record_of(game), player_id="p-1", wanted=wanted, at=timezone.now())
    assert [(sent["player"], sent["before"], sent["inside"]) for sent in told] == [(player, {"country": "DE"}, True)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("signal", [player_changed, player_erased])
def test_what_a_higher_floor_cannot_do_undoes_the_change(signal: Signal) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("the boards are not ready")

    game = make_game("arena")
    make_player(game, "p-1", display_name="Nova")
    acts: dict[Signal, Callable[[], object]] = {
        player_changed: lambda: player_upsert(
            game=record_of(game), player_id="p-1", wanted=PlayerUpsert(display_name="Vega"), at=timezone.now()
        ),
        player_erased: lambda: player_erase(game=record_of(game), player_id="p-1", at=timezone.now()),
    }
    signal.connect(refuse)
    try:
        with pytest.raises(RuntimeError):
            acts[signal]()
    finally:
        signal.disconnect(refuse)
    assert Player.objects.get().display_name == "Nova"


# --- erasing -----------------------------------------------------------------------------------------------------


def test_an_erased_player_is_gone_and_its_row_says_nothing_about_anyone(arena: Arena) -> None:
    arena.put(**NOVA)
    player = Player.objects.get()
    player.bans.create(reason="Nova cheats", kind=Ban.Kind.SHADOW)
    with _heard(player_erased) as told:
        assert arena.api.delete(PLAYER, credential=arena.key).status_code == 204
    assert [(sent["player"].pk, sent["inside"]) for sent in told] == [(player.pk, True)]
    assert arena.get().json()["code"] == "player_not_found"
    assert arena.get(f"{PLAYER}/export").status_code == 404
    assert arena.api.delete(PLAYER, credential=arena.key).status_code == 404
    kept = repr([*Player.objects.values(), *Ban.objects.values()])
    for trace in ("p-1", "Nova", "DE", "'eu'", "nova.png", "cheats"):
        assert trace not in kept, trace
    assert Player.objects.get().erased_at is not None


def test_the_same_id_may_come_back_as_somebody_new(arena: Arena) -> None:
    arena.put(**NOVA)
    before = Player.objects.get().pk
    arena.api.delete(PLAYER, credential=arena.key)
    again = arena.put()
    assert (again.status_code, again.json()["display_name"], again.json()["country"]) == (201, "p-1", None)
    assert Player.objects.get(player_id="p-1").pk != before


def test_a_player_may_erase_itself(arena: Arena) -> None:
    arena.put(**NOVA)
    assert arena.api.delete(PLAYER, credential=make_token(arena.game, "p-1")).status_code == 204
    assert arena.get().status_code == 404


# --- exporting ---------------------------------------------------------------------------------------------------


def test_an_export_holds_all_that_is_stored_about_a_player_and_no_secret(arena: Arena) -> None:
    arena.put(**NOVA)
    now = timezone.now()
    Player.objects.update(tokens_valid_from=now)
    player = Player.objects.get()
    ban = player.bans.create(
        reason="was rude", kind=Ban.Kind.SUSPENSION, starts_at=now, ends_at=now + timedelta(days=1)
    )
    export = arena.get(f"{PLAYER}/export").json()
    ours = {"id", "game", "erased_at"}  # what it is to us, not what it told us
    for field in _stored(Player) - ours:
        stored = getattr(player, field)
        shown = export["player"].get(field, export.get(field))
        assert shown == (stored if isinstance(stored, str) else _instant(stored)), field
    (shown_ban,) = export["bans"]
    for field in _stored(Ban) - {"id", "player", "made_by", "made_by_key"}:
        stored = getattr(ban, field)
        assert shown_ban[field] == (str(stored) if isinstance(stored, str) else stored and _instant(stored)), field
    assert arena.game.signing_secret not in arena.get(f"{PLAYER}/export").text


def _stored(model: type[Player | Ban]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields}  # noqa: SLF001 - Django's documented way to ask


def _instant(at: Any) -> Any:
    return at.isoformat().replace("+00:00", "Z")


def test_a_player_does_not_learn_of_its_shadow_ban_and_a_game_server_does(arena: Arena) -> None:
    arena.put(**NOVA)
    player = Player.objects.get()
    player.bans.create(reason="was rude")
    player.bans.create(reason="bot", kind=Ban.Kind.SHADOW)
    own = arena.get(f"{PLAYER}/export", credential=make_token(arena.game, "p-1"))
    assert [ban["kind"] for ban in own.json()["bans"]] == ["ban"]
    assert "bot" not in own.text
    assert {ban["kind"] for ban in arena.get(f"{PLAYER}/export").json()["bans"]} == {"ban", "shadow"}
