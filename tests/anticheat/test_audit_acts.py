"""What operators, keys and commands change is in the audit, with who, from where and why; and never a player's name."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from pytest_django import Settings

from anticheat import sign_ins
from anticheat.forest import Forest
from anticheat.management.commands import train_model
from anticheat.models import AuditEntry
from config import valkey
from config.errors import Unavailable
from leaderboards.models import Mode, Outbox, SetAside
from leaderboards.outbox import VERSION, Players, encode
from players.models import ApiKey, Ban, Game
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, make_token

pytestmark = pytest.mark.django_db
NO_BANS = {"bans-TOTAL_FORMS": "0", "bans-INITIAL_FORMS": "0"}
WHEN = {"starts_at_0": "2026-04-05", "starts_at_1": "09:00:00", "ends_at_0": "", "ends_at_1": ""}


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("operator"))
    return client


def _verbs() -> list[str]:
    return [verb for verb in AuditEntry.objects.order_by("pk").values_list("verb", flat=True) if "sign_in" not in verb]


def _last(verb: str) -> AuditEntry:
    return AuditEntry.objects.filter(verb=verb).latest("pk")


# --- the admin -----------------------------------------------------------------------------------------------------


def test_a_change_in_the_admin_says_who_from_where_what_before_and_after(operator: Client) -> None:
    game = make_game("arena")
    form = {"title": "The Arena", "public": "on"}
    answer = operator.post(f"/admin/players/game/{game.pk}/change/", form, REMOTE_ADDR="192.0.2.7")
    assert answer.status_code == 302
    entry = _last("game.change")
    assert (entry.by, entry.user, entry.address) == ("operator", User.objects.get().pk, "192.0.2.7")
    assert (entry.game, entry.player, entry.about) == (game.pk, None, f"players.game:{game.pk}")
    assert (entry.before, entry.after) == ({"title": "Arena"}, {"title": "The Arena"})
    assert abs((timezone.now() - entry.at).total_seconds()) < 300


def test_a_form_saved_without_a_change_is_no_act(operator: Client) -> None:
    game = make_game("arena")
    operator.post(f"/admin/players/game/{game.pk}/change/", {"title": "Arena", "public": "on"})
    assert _verbs() == []


def test_a_form_that_is_refused_is_no_act(operator: Client) -> None:
    game = make_game("arena")
    operator.post(f"/admin/players/game/{game.pk}/change/", {"title": "", "public": "on"})
    assert _verbs() == []


def test_a_mode_changed_in_the_admin_is_in_the_audit(operator: Client) -> None:
    mode = make_mode(make_game("arena"), "solo")
    page = operator.get(f"/admin/leaderboards/mode/{mode.pk}/change/")
    values = page.context["adminform"].form.initial
    form = {name: value for name, value in values.items() if value is not None} | {"grace_seconds": 60, "bounds": "{}"}
    form = {**form, "dimensions": "region,country"}
    assert operator.post(f"/admin/leaderboards/mode/{mode.pk}/change/", form).status_code == 302
    entry = _last("mode.change")
    assert (entry.game, entry.mode) == (mode.game_id, mode.pk)
    assert (entry.before, entry.after) == ({"grace_seconds": 3600}, {"grace_seconds": 60})


def test_a_new_key_is_in_the_audit_once_and_without_its_secret(operator: Client) -> None:
    game = make_game("arena")
    operator.post("/admin/players/apikey/add/", {"game": game.pk, "label": "eu", "scopes": ["read"]})
    key = ApiKey.objects.get()
    assert _verbs() == ["key.add"]
    entry = _last("key.add")
    assert (entry.by, entry.game, entry.about) == ("operator", game.pk, f"players.apikey:{key.pk}")
    assert entry.after == {"prefix": key.prefix, "label": "eu", "scopes": ["read"], "expires_at": None}


def test_revoked_keys_are_in_the_audit_each_once(operator: Client) -> None:
    game = make_game("arena")
    make_key(game)
    make_key(game)
    chosen = list(ApiKey.objects.values_list("pk", flat=True))
    for _ in range(2):
        operator.post("/admin/players/apikey/", {"action": "revoke", "_selected_action": chosen})
    revoked = AuditEntry.objects.filter(verb="key.revoke")
    assert sorted(revoked.values_list("about", flat=True)) == sorted(f"players.apikey:{pk}" for pk in chosen)
    assert {entry.by for entry in revoked} == {"operator"}


def test_players_signed_out_are_in_the_audit(operator: Client) -> None:
    player = make_player(make_game("arena"))
    operator.post("/admin/players/player/", {"action": "revoke_tokens", "_selected_action": [player.pk]})
    assert _last("player.sign_out").player == player.pk


def test_a_players_name_changed_by_an_operator_is_said_to_have_changed(operator: Client) -> None:
    player = make_player(make_game("arena"), "p-secret", display_name="Nova")
    form = {"display_name": "Comet", "country": "DE", "region": "", "avatar_url": ""} | NO_BANS
    assert operator.post(f"/admin/players/player/{player.pk}/change/", form).status_code == 302
    entry = _last("player.change")
    assert entry.player == player.pk
    assert (entry.before, entry.after) == (
        {"display_name": "changed", "country": "changed"},
        {"display_name": "changed", "country": "changed"},
    )


def test_bans_written_on_a_players_page_are_acts_of_their_own(operator: Client) -> None:
    player = make_player(make_game("arena"))
    address = f"/admin/players/player/{player.pk}/change/"
    form = {"display_name": player.display_name, "country": "", "region": "", "avatar_url": ""}
    inline = {f"bans-0-{name}": value for name, value in WHEN.items()}
    inline |= {"bans-TOTAL_FORMS": "1", "bans-INITIAL_FORMS": "0", "bans-0-kind": "ban", "bans-0-reason": "speed hack"}
    assert operator.post(address, form | inline).status_code == 302
    ban = Ban.objects.get()
    added = _last("ban.add")
    assert (added.player, added.game, added.about) == (player.pk, player.game_id, f"players.ban:{ban.pk}")
    assert added.why == "speed hack"
    held = {"bans-INITIAL_FORMS": "1", "bans-0-id": str(ban.pk), "bans-0-player": str(player.pk)}
    assert operator.post(address, form | inline | held | {"bans-0-kind": "shadow"}).status_code == 302
    assert (_last("ban.change").before, _last("ban.change").after) == ({"kind": "ban"}, {"kind": "shadow"})
    gone = held | {"bans-0-kind": "shadow", "bans-0-DELETE": "on"}
    assert operator.post(address, form | inline | gone).status_code == 302
    assert _last("ban.delete").about == f"players.ban:{ban.pk}"
    assert _last("ban.delete").before["kind"] == "shadow"
    assert _verbs() == ["ban.add", "ban.change", "ban.delete"]


@pytest.mark.parametrize("many", [True, False])
def test_a_deleted_ban_is_in_the_audit(operator: Client, many: bool) -> None:
    player = make_player(make_game("arena"))
    ban = Ban.objects.create(player=player, reason="speed hack")
    if many:
        form: dict[str, Any] = {"action": "delete_selected", "_selected_action": [ban.pk], "post": "yes"}
        operator.post("/admin/players/ban/", form)
    else:
        operator.post(f"/admin/players/ban/{ban.pk}/delete/", {"post": "yes"})
    assert not Ban.objects.exists()
    assert _verbs() == ["ban.delete"]
    entry = _last("ban.delete")
    assert (entry.player, entry.about) == (player.pk, f"players.ban:{ban.pk}")
    assert (entry.before["kind"], entry.before["reason"]) == ("ban", "changed")


def test_groups_and_users_are_in_the_audit_without_passwords(operator: Client) -> None:
    group = Group.objects.create(name="viewers")
    other = User.objects.create_user("other", email="o@example.org")
    form: dict[str, Any] = {"username": "other", "is_active": "on", "is_staff": "on", "groups": [group.pk]}
    form |= {"date_joined_0": "2026-04-05", "date_joined_1": "09:00:00", "email": "new@example.org"}
    assert operator.post(f"/admin/auth/user/{other.pk}/change/", form).status_code == 302
    after = _last("user.change").after
    assert (after["is_staff"], after["groups"], after["email"]) == (True, [group.pk], "changed")
    new = {"password1": "correct horse battery", "password2": "correct horse battery"}
    answer = operator.post(
        f"/admin/auth/user/{other.pk}/password/", new | {"set-password": "1", "usable_password": "true"}
    )
    assert answer.status_code == 302
    assert _last("user.password").about == f"auth.user:{other.pk}"
    operator.post("/admin/auth/user/add/", {"username": "third", "usable_password": "true", **new})
    assert _last("user.add").after["username"] == "third"
    assert "battery" not in json.dumps([entry.after for entry in AuditEntry.objects.all()])


def test_ones_own_password_changed_is_in_the_audit(operator: Client) -> None:
    user = User.objects.get()
    user.set_password("an old and long one")
    user.save()
    operator.force_login(user)
    new = {"new_password1": "correct horse battery", "new_password2": "correct horse battery"}
    operator.post("/admin/password_change/", {"old_password": "wrong", **new})
    assert "user.password" not in _verbs()
    operator.post("/admin/password_change/", {"old_password": "an old and long one", **new})
    assert _last("user.password").user == user.pk


def test_what_is_done_to_periodic_tasks_is_in_the_audit(operator: Client) -> None:
    every = IntervalSchedule.objects.create(every=1, period="hours")
    task = PeriodicTask.objects.create(name="mine", task="config.tasks.heartbeat", interval=every)
    operator.post("/admin/django_celery_beat/periodictask/", {"action": "disable_tasks", "_selected_action": [task.pk]})
    assert not PeriodicTask.objects.get().enabled
    assert _last("task.disable_tasks").about == f"django_celery_beat.periodictask:{task.pk}"


def test_who_signs_in_or_fails_to_is_in_the_audit(client: Client) -> None:
    user = User.objects.create_superuser("operator", password="correct horse battery")
    for name, password in (("operator", "wrong"), ("stranger", "wrong"), ("operator", "correct horse battery")):
        client.post("/admin/login/", {"username": name, "password": password}, REMOTE_ADDR="192.0.2.7")
    client.post("/admin/logout/")
    told = AuditEntry.objects.order_by("pk").values_list("verb", "by", "about", "address")
    assert [row[:2] for row in told] == [
        ("user.sign_in_failed", "nobody"),
        ("user.sign_in", "operator"),
        ("user.sign_out", "operator"),
    ]
    assert {row[2] for row in told} == {f"auth.user:{user.pk}"}
    assert told[0][3] == "192.0.2.7"


def test_wrong_passwords_are_in_the_audit_once_a_minute_from_each_address(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_ins, "_ONCE_IN", 3600)  # however slow this test is
    for name in ("operator", "other"):
        User.objects.create_superuser(name, password="correct horse battery")

    def fails(name: str, address: str) -> int:
        for _ in range(3):
            client.post("/admin/login/", {"username": name, "password": "wrong"}, REMOTE_ADDR=address)
        return AuditEntry.objects.filter(verb="user.sign_in_failed").count()

    assert fails("operator", "192.0.2.7") == 1
    assert fails("operator", "192.0.2.8") == 2
    assert fails("other", "192.0.2.8") == 3
    valkey.client(django_settings.CACHE_URL).flushdb()  # as after that time
    assert fails("operator", "192.0.2.7") == 4
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    assert fails("operator", "192.0.2.7") == 7, "rather too many than none"


def test_a_batch_that_is_tried_again_is_in_the_audit(operator: Client) -> None:
    mode = make_mode(make_game("arena"))
    payload = encode(Players(VERSION, [make_player(mode.game).pk]))
    batch = SetAside.objects.create(
        mode=mode, shard=0, kind=Outbox.Kind.PLACED, payload=payload, error="x", created_at=timezone.now()
    )
    operator.post("/admin/leaderboards/setaside/", {"action": "try_again", "_selected_action": [batch.pk]})
    assert not SetAside.objects.exists()
    entry = _last("batch.retry")
    assert (entry.by, entry.mode, entry.game) == ("operator", mode.pk, mode.game_id)
    assert entry.about == f"leaderboards.setaside:{batch.pk}"


def _refuses(**_: object) -> None:
    raise Unavailable("The audit cannot be written.")


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_recorded_is_not_done(operator: Client, settings: Settings) -> None:
    game = make_game("arena")
    key = make_key(game)
    ban = Ban.objects.create(player=make_player(game), reason="speed hack")
    settings.AUDIT_RECORDER = f"{__name__}._refuses"
    assert operator.post(f"/admin/players/game/{game.pk}/change/", {"title": "New"}).status_code == 503
    operator.post("/admin/players/ban/", {"action": "delete_selected", "_selected_action": [ban.pk], "post": "yes"})
    chosen = list(ApiKey.objects.values_list("pk", flat=True))
    operator.post("/admin/players/apikey/", {"action": "revoke", "_selected_action": chosen})
    answer = operator.put(
        "/v1/games/arena/modes/solo", "{}", content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {key}"
    )
    assert answer.status_code == 503
    game.refresh_from_db()
    assert (game.title, Ban.objects.count(), Mode.objects.count()) == ("Arena", 1, 0)
    assert ApiKey.objects.get().revoked_at is None


# --- keys and players ----------------------------------------------------------------------------------------------


def test_a_key_that_declares_a_mode_is_in_the_audit(api: ApiClient) -> None:
    game = make_game("arena")
    key = make_key(game)
    api.put("/v1/games/arena/modes/solo", json={"max_score": 100, "min_score": 0}, credential=key)
    for _ in range(2):
        answer = api.put("/v1/games/arena/modes/solo", json={"max_score": 200, "min_score": 0}, credential=key)
        assert answer.status_code == 200
    mode = Mode.objects.get()
    assert _verbs() == ["key.add", "mode.add", "mode.change"]
    entry = _last("mode.change")
    assert (entry.by, entry.key) == ("key", ApiKey.objects.get().pk)
    assert (entry.game, entry.mode, entry.about) == (game.pk, mode.pk, f"leaderboards.mode:{mode.pk}")
    assert (entry.before, entry.after) == ({"max_score": 100}, {"max_score": 200})
    assert entry.request_id


def test_a_mode_that_is_refused_is_no_act(api: ApiClient) -> None:
    key = make_key(make_game("arena"))
    assert (
        api.put("/v1/games/arena/modes/solo", json={"max_score": 1, "min_score": 2}, credential=key).status_code == 400
    )
    assert _verbs() == ["key.add"]


def test_a_key_that_renames_a_player_is_in_the_audit_and_the_player_itself_is_not(api: ApiClient) -> None:
    game = make_game("arena")
    key, token = make_key(game), make_token(game, "p-1")
    api.put("/v1/games/arena/players/p-1", json={"display_name": "Nova"}, credential=key)
    api.put("/v1/games/arena/players/p-1", json={"display_name": "Nova"}, credential=key)
    api.put("/v1/games/arena/players/p-1", json={"display_name": "Comet"}, credential=token)
    assert _verbs() == ["key.add"], "registering is no change, nor is saying the same again"
    api.put("/v1/games/arena/players/p-1", json={"display_name": "Vega"}, credential=key)
    entry = _last("player.change")
    assert (entry.by, entry.before, entry.after) == (
        "key",
        {"display_name": "changed"},
        {"display_name": "changed"},
    )


@pytest.mark.parametrize("by", ["key", "player"])
def test_an_erased_players_name_is_nowhere_in_the_audit(api: ApiClient, operator: Client, by: str) -> None:
    game = make_game("arena")
    key, token = make_key(game), make_token(game, "zz-player-id")
    path = "/v1/games/arena/players/zz-player-id"
    profile = {"display_name": "Zzname", "country": "ZW", "region": "zz-region", "avatar_url": "https://e.org/zz.png"}
    api.put(path, json=profile, credential=key)
    player = game.players.get()
    form = {"display_name": "Zzother", "country": "ZW", "region": "zz-region", "avatar_url": "https://e.org/zz.png"}
    operator.post(f"/admin/players/player/{player.pk}/change/", form | NO_BANS)
    form = {"player": str(player.pk), "kind": "ban", "reason": "speed hack", **WHEN}
    assert operator.post("/admin/players/ban/add/", form).status_code == 302
    api.put(path, json=profile, credential=key)
    call_command("create_token", "arena", "zz-player-id", stdout=io.StringIO())
    assert api.delete(path, credential=key if by == "key" else token).status_code == 204
    entry = _last("player.erase")
    assert (entry.by, entry.player, entry.game) == (by, player.pk, game.pk)
    assert _verbs() == [*("key.add", "player.change", "ban.add", "player.change", "token.add", "player.erase")]
    values = [value for row in AuditEntry.objects.values() for value in row.values()]
    # where two letters stand beside each other by chance: salts and hashes
    random = [value for value in values if isinstance(value, bytes)]
    told = json.dumps([value for value in values if not isinstance(value, bytes)], default=str).lower()
    assert "zz" not in told
    assert "zw" not in told
    assert not [one for one in random for word in (b"zzname", b"zzother", b"zz-") if word in one.lower()]


# --- commands ------------------------------------------------------------------------------------------------------


def test_a_file_of_games_and_modes_is_in_the_audit_unless_it_was_a_dry_run(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text("[games.arena]\n[games.arena.modes.solo]\ndecimals = 2\nmin_score = 0\nmax_score = 1.25\n")
    call_command("apply_config", str(file), "--dry-run", stdout=io.StringIO())
    assert _verbs() == []
    call_command("apply_config", str(file), stdout=io.StringIO())
    assert _verbs() == ["game.add", "mode.add"]
    entry = _last("mode.add")
    assert (entry.by, entry.command, entry.after["max_score"]) == ("command", "apply_config", "1.25")


def test_a_key_and_a_secret_handed_out_on_the_command_line_are_in_the_audit() -> None:
    game = make_game("arena")
    call_command("create_key", "arena", stdout=io.StringIO())
    call_command("show_secret", "arena", stdout=io.StringIO())
    assert [(entry.verb, entry.command, entry.game) for entry in AuditEntry.objects.order_by("pk")] == [
        ("key.add", "create_key", game.pk),
        ("secret.show", "show_secret", game.pk),
    ]
    assert game.signing_secret not in json.dumps(list(AuditEntry.objects.values()), default=str)


def test_a_log_judged_anew_is_in_the_audit_unless_it_was_a_dry_run() -> None:
    mode = make_mode(make_game("arena"), "solo")
    asked = ["--mode=solo", "--since=2026-10-01", "--until=2026-10-08"]
    call_command("rejudge", *asked, "--dry-run", stdout=io.StringIO())
    assert _verbs() == ["mode.add"]
    call_command("rejudge", *asked, stdout=io.StringIO())
    entry = _last("mode.rejudge")
    assert (entry.by, entry.command, entry.game, entry.mode) == ("command", "rejudge", mode.game_id, mode.pk)
    assert entry.after == {
        "since": "2026-10-01T00:00:00+00:00",
        "until": "2026-10-08T00:00:00+00:00",
        "findings": 0,
        "players": 0,
    }


def test_a_model_that_is_trained_is_in_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    mode = make_mode(make_game("arena"), "solo")
    forest = Forest(
        version=3, mode=mode.pk, trained_at="", players=700, features=[], medians=[], limit=0.6, usual=1, trees=[]
    )
    monkeypatch.setattr(train_model, "model_train", lambda **_: forest)  # scikit-learn may not be there
    call_command("train_model", "--mode=solo", "--since=2026-10-01", "--until=2026-10-08", stdout=io.StringIO())
    entry = _last("model.train")
    assert (entry.by, entry.command, entry.game, entry.mode) == ("command", "train_model", mode.game_id, mode.pk)
    assert (entry.after["version"], entry.after["players"]) == (3, 700)
    assert entry.after["since"] == "2026-10-01T00:00:00+00:00"


# --- from where ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.9", "192.0.2.7"),
        (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.1, 203.0.113.9", "198.51.100.1"),
        (3, "198.51.100.1, 203.0.113.9", "192.0.2.7"),
        (1, "nonsense", "192.0.2.7"),
        (1, "", "192.0.2.7"),
        (1, "2001:DB8::1", "2001:db8::1"),
    ],
)
def test_an_address_is_believed_as_far_as_our_own_proxies_wrote_it(
    operator: Client, settings: Settings, proxies: int, forwarded: str, address: str
) -> None:
    settings.PROXIES = proxies
    game = make_game("arena")
    operator.post(
        f"/admin/players/game/{game.pk}/change/",
        {"title": "New"},
        REMOTE_ADDR="192.0.2.7",
        HTTP_X_FORWARDED_FOR=forwarded,
    )
    assert _last("game.change").address == address


# --- what may be kept ----------------------------------------------------------------------------------------------


def test_whatever_stands_in_a_form_can_be_recorded_and_read_back(transactional_db: None) -> None:
    from anticheat import audit, chain  # noqa: PLC0415
    from config.audit import by_command  # noqa: PLC0415

    odd = {
        "nul": "a\0b",
        "half": "\ud800",
        "float": 1e22,
        "minus": -0.0,
        "big": 10**40,
        "list": [1.5, {"region": "eu"}],
    }
    audit.record(verb="mode.change", who=by_command("test"), after=odd, why="\0\udfff")
    assert chain.verify().seq == 1
    told = _last("mode.change").after
    assert (told["float"], told["big"], told["list"]) == ("1e+22", 10**40, ["1.5", {"region": "changed"}])
    assert Game.objects.count() == 0
