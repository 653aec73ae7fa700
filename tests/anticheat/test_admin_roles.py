"""Roles: each tried with each act. Whoever may only look changes nothing, by any address or form."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver, get_resolver
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from anticheat.models import Case, OwnPlayer, Rollback, Ruling
from anticheat.services.rulings import ruling_make
from config.audit import Who
from leaderboards.models import Mode, Outbox, SetAside
from players.models import ApiKey, Ban, Player
from tests.anticheat.forms import filled_in, fingerprint, undone
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import make_case
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db
ACT, CASE, RULING = "/admin/trust/act", "/admin/anticheat/case", "/admin/anticheat/ruling"
EVERYBODY = ("nobody", "viewer", "moderator", "manager", "superuser")
RULERS = {"moderator", "manager", "superuser"}
MANAGERS = {"manager", "superuser"}
CHIEFS = {"superuser"}
EXPORT = "/admin/anticheat/auditentry/export/"
NOT_SEEN = ("/auth/", "/django_celery_beat/", "/add/", "/delete/", "trust/act", EXPORT)  # not a viewer's


class Scene(NamedTuple):
    case: Case
    mode: Mode
    player: Player
    done: Ruling
    proposed: Ruling
    rollback: Ruling


@pytest.fixture
def scene(settings: Any) -> Scene:
    """A case; a ruling that is done, one that is proposed, a rollback; and one of everything else."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    now = datetime.now(UTC)
    for number, (player, score) in enumerate([("nova", 15), ("nova", 900), ("vega", 30)], start=1):
        submit(mode, player, score, now, number)
    mode.refresh_from_db()
    case = make_case(mode, attempts=[2])
    make_key(mode.game)
    vega = Player.objects.get(player_id="vega")
    by = Who("operator", user=User.objects.create(username="another", is_staff=True).pk)
    OwnPlayer.objects.create(user_id=by.user or 0, player=Player.objects.create(game=mode.game, player_id="own"))

    def rule(kind: str, **fields: Any) -> Ruling:
        made = Ruling(kind=kind, game=mode.game, player=vega, reason="speed", **fields)
        return ruling_make(ruling=made, by=by, now=now)

    done = rule("hide")
    span = {"since": now - timedelta(days=1), "until": now}
    rollback = rule("rollback", rollback=Rollback(game=mode.game, player=vega, **span))
    settings.TWO_PERSONS = ["shadow"]
    proposed = rule("shadow")
    settings.TWO_PERSONS = []  # else nobody bans by hand
    SetAside.objects.create(
        mode=mode, shard=0, kind=Outbox.Kind.SCORES, payload=b"", error="ValueError: x", created_at=now
    )
    interval = IntervalSchedule.objects.create(every=5, period="seconds")
    PeriodicTask.objects.create(name="beat", task="tests.beat", interval=interval)
    return Scene(case, mode, case.player, done, proposed, rollback)


def _rule(kind: str, **fields: Any) -> Callable[[Client, Scene], Any]:
    def act(client: Client, scene: Scene) -> Any:
        form = {"kind": kind, "player": scene.player.pk, "case": scene.case.pk, "reason": "speed", **fields}
        return client.post(ACT, form)

    return act


def _post(address: Callable[[Scene], str], **form: Any) -> Callable[[Client, Scene], Any]:
    return lambda client, scene: client.post(address(scene), form)


def _form(address: Callable[[Scene], str], **fields: Any) -> Callable[[Client, Scene], Any]:
    """A page's own form, with some fields filled in."""

    def act(client: Client, scene: Scene) -> Any:
        page = signed_in(User.objects.get(username="superuser")).get(address(scene))
        return client.post(address(scene), filled_in(page.content.decode()) | fields)

    return act


ACTS: dict[str, tuple[Callable[[Client, Scene], Any], set[str]]] = {
    "clear": (_rule("clear"), RULERS),
    "watch": (_rule("watch"), RULERS),
    "confirm": (_rule("confirm"), RULERS),
    "disqualify": (_rule("reject", attempt=UUID(int=2)), RULERS),
    "hide": (_rule("hide", until="7d"), RULERS),
    "suspend": (_rule("suspend", until="1d"), RULERS),
    "ban": (_rule("ban", until="ever"), RULERS),
    "ban in one mode": (_rule("ban", until="ever", where="mode"), RULERS),
    "propose": (_rule("shadow", until="ever"), RULERS),
    "roll a player back": (_rule("rollback", since="1d"), MANAGERS),
    "next": (_post(lambda _: f"{CASE}/next/"), RULERS),
    "hold": (_post(lambda scene: f"{CASE}/{scene.case.pk}/hold/"), RULERS),
    "snooze": (_post(lambda scene: f"{CASE}/{scene.case.pk}/snooze/"), RULERS),
    "note": (_post(lambda scene: f"{CASE}/{scene.case.pk}/note/", note="look at the replay"), RULERS),
    "undo": (_post(lambda scene: f"{RULING}/{scene.done.pk}/undo/", why="a mistake"), RULERS),
    "approve": (_post(lambda scene: f"{RULING}/{scene.proposed.pk}/approve/"), RULERS),
    "withdraw": (_post(lambda scene: f"{RULING}/{scene.proposed.pk}/withdraw/", why="no"), RULERS),
    "undo a rollback": (_post(lambda scene: f"{RULING}/{scene.rollback.pk}/undo/", why="a mistake"), MANAGERS),
    "roll a key back": (
        _post(
            lambda _: "/admin/anticheat/rollback/add/",
            game="arena",
            mode="solo",
            since="2026-01-01T00:00",
            reason="leaked",
        ),
        MANAGERS,
    ),
    "change a game": (_form(lambda scene: f"/admin/players/game/{scene.mode.game_id}/change/"), MANAGERS),
    "change a mode": (_form(lambda scene: f"/admin/leaderboards/mode/{scene.mode.pk}/change/", bounds=""), MANAGERS),
    "change a player": (
        lambda client, scene: client.post(
            f"/admin/players/player/{scene.player.pk}/change/",
            {"display_name": "Other", "bans-TOTAL_FORMS": "0", "bans-INITIAL_FORMS": "0"},
        ),
        MANAGERS,
    ),
    "make a key": (
        lambda client, scene: client.post(
            "/admin/players/apikey/add/", {"game": scene.mode.game_id, "label": "new", "scopes": ["read"]}
        ),
        MANAGERS,
    ),
    "revoke keys": (
        lambda client, _: client.post(
            "/admin/players/apikey/", {"action": "revoke", "_selected_action": [ApiKey.objects.get().pk]}
        ),
        MANAGERS,
    ),
    "ban by hand": (
        lambda client, scene: client.post(
            "/admin/players/ban/add/",
            {
                "player": scene.player.pk,
                "kind": "ban",
                "starts_at_0": "2026-01-01",
                "starts_at_1": "0:0",
                "reason": "x",
            },
        ),
        MANAGERS,
    ),
    "delete a ban": (
        lambda client, _: client.post(f"/admin/players/ban/{Ban.objects.get().pk}/delete/", {"post": "yes"}),
        MANAGERS,
    ),
    "make a user": (
        lambda client, _: client.post(
            "/admin/auth/user/add/",
            {"username": "new", "usable_password": "false", "password1": "", "password2": ""},
        ),
        CHIEFS,
    ),
    "become a manager": (
        lambda client, _: client.post("/admin/auth/group/add/", {"name": "mine"}),
        CHIEFS,
    ),
    "say who plays as whom": (
        lambda client, _: client.post(
            f"/admin/anticheat/ownplayer/{OwnPlayer.objects.get().pk}/delete/", {"post": "yes"}
        ),
        CHIEFS,
    ),
    "change a periodic task": (
        lambda client, _: client.post(
            "/admin/django_celery_beat/periodictask/",
            {"action": "disable_tasks", "_selected_action": [PeriodicTask.objects.get().pk]},
        ),
        CHIEFS,
    ),
}


def _client_of(role: str) -> Client:
    make_operator("superuser", "superuser")
    if role == "superuser":
        return signed_in(User.objects.get(username="superuser"))
    if role == "nobody":
        return signed_in(User.objects.create(username="nobody", is_staff=True))
    return signed_in(make_operator(role))


@pytest.mark.parametrize("role", EVERYBODY)
def test_each_role_can_do_what_it_is_for_and_nothing_else(role: str, scene: Scene) -> None:
    client = _client_of(role)
    wrong = []
    for name, (act, allowed) in ACTS.items():
        before = fingerprint()
        with undone():
            answer = act(client, scene)
            changed = sorted(table for table, was in fingerprint().items() if was != before[table])
        changed = [table for table in changed if table != "auth_user" or name == "make a user"]  # last_login
        if bool(changed) != (role in allowed):
            wrong.append(f"{name}: {answer.status_code}, {changed}")
    assert wrong == []


def test_who_is_not_signed_in_is_asked_to(scene: Scene) -> None:
    before = fingerprint()
    for name, (act, _) in ACTS.items():
        if name in {"change a game", "change a mode"}:
            continue  # which read the page as somebody else first
        answer = act(Client(), scene)
        assert (name, answer.status_code) == (name, 302)
        assert answer["Location"].startswith("/admin/login/")
    assert fingerprint() == before


def _routes(patterns: list[Any], prefix: str = "/") -> Iterator[str]:
    for one in patterns:
        route = prefix + str(one.pattern).lstrip("^").rstrip("$")
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, route)
        else:
            yield route


def _every_address() -> list[str]:
    """Of the admin, with each object there is; without those that sign one in or out."""
    found = [f"/admin/{app}/" for app in ("players", "leaderboards", "anticheat", "auth", "django_celery_beat")]
    for route in _routes(get_resolver().url_patterns):
        if not route.startswith("/admin/") or "(" in route or route in {"/admin/logout/", "/admin/enter"}:
            continue
        model = next((one for one in admin.site._registry if route.startswith(_list_of(one))), None)  # noqa: SLF001
        keys = _keys_of(model) if model and "<" in route else ["1"]
        found += [re.sub("<[^>]+>", key, route) for key in keys or ["1"]]
    return found


def _list_of(model: Any) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"  # noqa: SLF001


def _keys_of(model: Any) -> list[str]:
    return [str(row.pk) for row in model._default_manager.all()[:4]]  # noqa: SLF001


def test_a_viewer_changes_nothing_by_any_address_or_form(scene: Scene) -> None:
    """Every address of the admin, with nothing, with the page's own form as a superuser sees it, with every action."""
    chief, viewer = _client_of("superuser"), signed_in(make_operator("viewer"))
    addresses = _every_address()
    assert len(addresses) > 90, addresses
    acts = [act for act, _ in ACTS.values()]
    actions = {name for own in admin.site._registry.values() for name in own.actions or ()} | {"delete_selected"}  # noqa: SLF001
    before, wrong, could = fingerprint(), [], 0
    for address in addresses:
        page = chief.get(address)
        form = filled_in(page.content.decode()) if page.status_code == 200 and not page.streaming else {}
        keys = next((_keys_of(one) for one in admin.site._registry if address == _list_of(one)), [])  # noqa: SLF001
        for sent in (
            {},
            form,
            {**form, "_save": "Save", "post": "yes", "why": "x", "kind": "ban", "player": str(scene.player.pk)},
            *({"action": action, "_selected_action": keys, "post": "yes"} for action in actions if keys),
        ):
            answer = viewer.post(address, sent)
            assert answer.status_code < 500, (address, sent)
        for method in (viewer.put, viewer.patch, viewer.delete):
            assert method(address).status_code < 500
        with undone():
            chief.post(address, {**form, "why": "x", "post": "yes"})
            could += _differs(before)
        if _differs(before):
            wrong.append(address)
            before = fingerprint()
    for act in acts:
        act(viewer, scene)
    assert wrong == []
    assert not _differs(before)
    assert could > 15, "the forms are not such as would change anything"


def _differs(before: dict[str, str]) -> bool:
    now = fingerprint()
    return any(now[table] != was for table, was in before.items() if table != "auth_user")


def test_a_viewer_sees_everything(scene: Scene) -> None:
    viewer, chief = signed_in(make_operator("viewer")), _client_of("superuser")
    unseen = []
    for address in _every_address():
        if any(part in address for part in NOT_SEEN):
            continue
        mine = viewer.get(address).status_code
        if mine != 200 and chief.get(address).status_code == 200:
            unseen.append((address, mine))
    assert unseen == []


@pytest.mark.parametrize("why", ["two persons", "own player"])
def test_a_ban_by_hand_is_no_way_around(scene: Scene, settings: Any, why: str) -> None:
    manager = make_operator("manager", "alone")
    if why == "two persons":
        settings.TWO_PERSONS = ["ban"]
    else:
        OwnPlayer.objects.create(user=manager, player=scene.player)
    ban = Ban.objects.create(player=scene.player, reason="speed")
    client = signed_in(manager)
    fields = {"player": scene.player.pk, "kind": "ban", "starts_at_0": "2026-01-01", "starts_at_1": "00:00"}
    refused = client.post("/admin/players/ban/add/", {**fields, "reason": "alone"})
    assert refused.status_code == 403, refused.content[:300]
    assert client.post(f"/admin/players/ban/{ban.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": ban.pk, "post": "yes"}
    client.post("/admin/players/ban/", chosen)
    assert list(Ban.objects.filter(player=scene.player)) == [ban]
    page = client.get(f"/admin/players/player/{scene.player.pk}/change/").content.decode()
    assert "bans-TOTAL_FORMS" not in page


@pytest.mark.parametrize("role", EVERYBODY)
def test_the_audit_is_taken_along_by_who_manages_only(role: str, scene: Scene) -> None:
    assert _client_of(role).get(EXPORT).status_code == (200 if role in MANAGERS else 403)
