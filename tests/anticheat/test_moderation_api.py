"""A game's server with the scope `moderate` does what an operator does; another game's sees nothing of it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission

from anticheat import selections, whatif
from anticheat.models import Case, OwnPlayer, Ruling
from anticheat.services.rollbacks import rollbacks_run
from leaderboards.models import Mode
from players.models import ApiKey, Ban, Player
from players.scopes import Scope
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import make_exploiters
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
ARENA = "/v1/games/arena"
_DAY = "2026-01-01T00:00:00Z"


@pytest.fixture
def solo(api: ApiClient) -> Mode:
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000, dimensions=("level",))
    key = make_key(mode.game)
    for number in range(1, 13):
        body: dict[str, Any] = {"player_id": f"p-{number}", "score": number, "attempt_id": str(UUID(int=number))}
        body |= {"client": {"build": "1.0" if number < 12 else "1.1"}, "dimensions": {"level": str(number % 2)}}
        assert api("POST", f"{ARENA}/modes/solo/scores", credential=key, json=body).status_code == 202
    return mode


@pytest.fixture
def key(solo: Mode) -> str:
    return make_key(solo.game, Scope.MODERATE)


def _listed(api: ApiClient, mode: Mode) -> list[str]:
    drain(mode)
    return [one["player_id"] for one in api.get(f"{ARENA}/modes/solo/leaderboards/alltime").json()["entries"]]


def _rule(api: ApiClient, key: str, status: int = 201, **body: Any) -> Any:
    answer = api("POST", f"{ARENA}/rulings", credential=key, json={"reason": "speed", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def _undo(api: ApiClient, key: str, ruling: Any) -> Any:
    answer = api("POST", f"{ARENA}/rulings/{ruling['ruling']}/undo", credential=key, json={"why": "a mistake"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_ban_and_its_undoing(api: ApiClient, solo: Mode, key: str) -> None:
    before = _listed(api, solo)
    ruling = _rule(api, key, kind="ban", player_id="p-12")
    assert _listed(api, solo) == before[1:]
    assert _undo(api, key, ruling)["state"] == "undone"
    assert _listed(api, solo) == before
    again = api("POST", f"{ARENA}/rulings/{ruling['ruling']}/undo", credential=key, json={"why": "twice"})
    assert (again.status_code, again.json()["code"]) == (409, "ruling_refused")
    assert [one["state"] for one in api("GET", f"{ARENA}/rulings", credential=key).json()["rulings"]] == ["undone"]


def test_one_score_disqualified(api: ApiClient, solo: Mode, key: str) -> None:
    ruling = _rule(api, key, kind="reject", player_id="p-12", mode="solo", attempts=[str(UUID(int=12))])
    assert ruling["attempts"] == 1
    assert "p-12" not in _listed(api, solo)
    told = api("GET", f"{ARENA}/players/p-12/attempts/{UUID(int=12)}", credential=make_key(solo.game)).json()
    assert (told["state"], told["reasons"]) == ("rejected", ["speed"])


def _ago(**ago: int) -> str:
    return (datetime.now(UTC) - timedelta(**ago)).isoformat()


@pytest.mark.parametrize("what", ["player", "key", "mode", "build", "level", "attempt"])
def test_a_rollback_is_previewed_done_and_undone(api: ApiClient, solo: Mode, key: str, what: str) -> None:
    asked: dict[str, Any] = {"rollback": {"since": _ago(days=1)}, "mode": "solo"}
    gone = {"p-12"}
    if what in ("player", "attempt"):
        asked["player_id"] = "p-12"
        asked["rollback"] |= {"attempt_id": str(UUID(int=12))} if what == "attempt" else {}
    elif what == "build":
        asked["rollback"]["predicate"] = {"build": "1.1"}
    elif what == "level":
        asked["rollback"]["predicate"] = {"level": "0"}
        gone = {f"p-{number}" for number in range(2, 13, 2)}
    else:
        asked["rollback"] |= {"key": ApiKey.objects.order_by("pk")[0].prefix} if what == "key" else {}
        gone = {f"p-{number}" for number in range(1, 13)}
    before = _listed(api, solo)
    after = [one for one in before if one not in gone]
    told = api("POST", f"{ARENA}/rollbacks/preview", credential=key, json=asked).json()
    assert (told["attempts"], told["players"]) == (len(gone), len(gone))
    assert [one["player_id"] for one in told["tops"][-1]["before"]] == before[:10]
    assert [one["player_id"] for one in told["tops"][-1]["after"]] == after[:10]
    assert _listed(api, solo) == before
    ruling = _rule(api, key, kind="rollback", **asked)
    rollbacks_run(now=datetime.now(UTC))
    assert _listed(api, solo) == after
    found = api("GET", f"{ARENA}/rulings/{ruling['ruling']}", credential=key).json()["rollback"]
    assert (found["state"], found["done"], found["total"]) == ("done", len(gone), len(gone))
    _undo(api, key, ruling)
    rollbacks_run(now=datetime.now(UTC))
    assert _listed(api, solo) == before


@pytest.mark.parametrize("many", [120, 30])
def test_who_moves_up_is_looked_for_below_all_who_fall(
    api: ApiClient, solo: Mode, key: str, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    if many < 100:
        monkeypatch.setattr(whatif, "DEPTHS", [10, 20])
    before = _listed(api, solo)
    make_exploiters(solo, many=many)
    asked = {"mode": "solo", "rollback": {"since": _ago(days=1), "predicate": {"build": "1.42.0"}}}
    told = api("POST", f"{ARENA}/rollbacks/preview", credential=key, json=asked).json()
    found = [[one["player_id"] for one in top["after"]] for top in told["tops"]]
    assert (told["attempts"], told["whole"]) == (many, many > 100)
    assert found == [before[:10] if many > 100 else []] * len(solo.windows)


def test_cases_page_by_page(api: ApiClient, solo: Mode, key: str) -> None:
    players = list(Player.objects.order_by("pk"))
    for number, player in enumerate(players[:5]):
        Case.objects.create(game=solo.game, mode=solo, player=player, priority=number // 2, risk=0.5)
    found, cursor = [], ""
    while cursor is not None:
        page = api("GET", f"{ARENA}/cases?limit=2{cursor and '&cursor='}{cursor}", credential=key).json()
        found += [one["player_id"] for one in page["cases"]]
        cursor = page["next_cursor"]
    assert found == ["p-5", "p-3", "p-4", "p-1", "p-2"]
    one = api("GET", f"{ARENA}/cases/{Case.objects.order_by('pk')[0].pk}", credential=key).json()
    assert one["case"]["player_id"] == "p-1"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "suspend", "player_id": "p-1"}, "ends_at"),
        ({"kind": "ban"}, "player_id"),
        ({"kind": "reject", "player_id": "p-1"}, None),
        ({"kind": "clear", "player_id": "p-1"}, None),
        ({"kind": "rollback", "player_id": "p-1"}, None),
        ({"kind": "rollback", "rollback": {"since": "2026-01-01T00:00:00Z"}}, None),
        ({"kind": "ban", "player_id": "p-1", "ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
        ({"kind": "ban", "player_id": "p-1", "reason": " "}, "reason"),
        ({"kind": "ban", "player_id": "p-1", "ends_at": "9999-12-31T23:59:59-14:00"}, "ends_at"),
        ({"kind": "shadow", "player_id": "p-1", "ends_at": "9999-12-31T23:59:59Z"}, "ends_at"),
        ({"kind": "rollback", "mode": "solo", "rollback": {"since": "0001-01-01T00:00:00+14:00"}}, "since"),
        (
            {"kind": "rollback", "mode": "solo", "rollback": {"since": _DAY, "until": "9999-12-31T23:59:59-14:00"}},
            "until",
        ),
    ],
)
def test_what_cannot_be_ruled_says_why(
    api: ApiClient, solo: Mode, key: str, body: dict[str, Any], field: str | None
) -> None:
    told = _rule(api, key, status=400, **body)
    assert told["code"] == "invalid_request"
    assert field is None or field in told["errors"]


@pytest.mark.parametrize(("asked", "expected"), [({}, None), ({"mode": "solo", "player_id": "p-12"}, "solo")])
@pytest.mark.parametrize("kind", ["ban", "suspend", "shadow", "hide"])
def test_a_ban_of_a_case_is_of_the_whole_game_unless_it_names_the_mode(  # noqa: PLR0913, PLR0917
    api: ApiClient, solo: Mode, key: str, kind: str, asked: dict[str, Any], expected: str | None
) -> None:
    case = Case.objects.create(game=solo.game, mode=solo, player=Player.objects.get(player_id="p-12"))
    ends = {"ends_at": _ago(days=-1)} if kind == "suspend" else {}
    ruling = _rule(api, key, kind=kind, case=case.pk, **ends, **asked)
    assert (ruling["player_id"], ruling["case"], ruling["mode"]) == ("p-12", case.pk, expected)
    assert Ban.objects.get().mode_id == (solo.pk if expected else None)


@pytest.mark.parametrize("kind", ["ban", "confirm", "release"])
@pytest.mark.parametrize("odd", [{"player_id": "p-2"}, {"mode": "duel"}, {"player_id": "nobody"}, {"mode": "none"}])
def test_a_ruling_of_a_case_is_about_its_player_and_mode_and_no_other(
    api: ApiClient, solo: Mode, key: str, kind: str, odd: dict[str, str]
) -> None:
    make_mode(solo.game, "duel")
    case = Case.objects.create(game=solo.game, mode=solo, player=Player.objects.get(player_id="p-12"))
    told = _rule(api, key, status=400, kind=kind, case=case.pk, **odd)
    assert (told["code"], list(told["errors"])) == ("invalid_request", list(odd))
    assert not Ruling.objects.exists()
    assert _rule(api, key, kind=kind, case=case.pk, player_id="p-12", mode="solo")["case"] == case.pk


@pytest.mark.parametrize("odd", [{"since": "0001-01-01T00:00:00+14:00"}, {"until": "9999-12-31T23:59:59-14:00"}])
def test_a_preview_between_moments_that_nobody_can_keep_is_refused(
    api: ApiClient, solo: Mode, key: str, odd: dict[str, str]
) -> None:
    asked = {"mode": "solo", "rollback": {"since": _DAY} | odd}
    answer = api("POST", f"{ARENA}/rollbacks/preview", credential=key, json=asked)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, list(odd))


def test_another_games_server_and_other_scopes_see_and_do_nothing(api: ApiClient, solo: Mode, key: str) -> None:
    case = Case.objects.create(game=solo.game, mode=solo, player=Player.objects.order_by("pk")[0])
    ruling = _rule(api, key, kind="ban", player_id="p-12")
    stranger = make_key(make_game("other"))
    weak = make_key(solo.game, Scope.SUBMIT, Scope.READ, Scope.MANAGE)
    calls = [
        ("GET", "cases", None),
        ("GET", f"cases/{case.pk}", None),
        ("GET", "rulings", None),
        ("GET", f"rulings/{ruling['ruling']}", None),
        ("POST", f"rulings/{ruling['ruling']}/undo", {"why": "x"}),
        ("POST", "rulings", {"kind": "ban", "player_id": "p-1", "reason": "x"}),
        ("POST", "rollbacks/preview", {"mode": "solo", "rollback": {"since": _ago(days=1)}}),
    ]
    for method, path, body in calls:
        assert api(method, f"{ARENA}/{path}", credential=stranger, json=body).status_code == 404
        assert api(method, f"{ARENA}/{path}", credential=weak, json=body).status_code == 403
        assert api(method, f"{ARENA}/{path}", json=body).status_code == 401
    own = make_mode(make_game("third"))
    elsewhere = make_key(own.game, Scope.MODERATE)
    for method, path, body in calls[1:5]:
        if path != "rulings":
            answer = api(method, f"/v1/games/third/{path}", credential=elsewhere, json=body)
            assert answer.status_code == 404, path


@pytest.mark.parametrize("role", ["superuser", "manager", "bans alone"])
def test_operators_rule_in_the_admin_where_nobody_judges_itself(
    api: ApiClient, solo: Mode, key: str, role: str
) -> None:
    user = make_operator("superuser" if role == "superuser" else "manager")
    if role == "bans alone":
        user.groups.clear()
        user.user_permissions.add(Permission.objects.get(codename="add_ban"))
    own = Player.objects.get(player_id="p-12")
    OwnPlayer.objects.create(user=user, player=own)
    case = Case.objects.create(game=solo.game, mode=solo, player=own)
    ruling = _rule(api, key, kind="ban", player_id="p-12")
    browser = signed_in(user)
    calls: list[tuple[str, dict[str, Any] | None]] = [
        ("cases", None),
        (f"cases/{case.pk}", None),
        ("rulings", None),
        (f"rulings/{ruling['ruling']}", None),
        ("rulings", {"kind": "release", "case": case.pk, "reason": "x"}),
        ("rulings", {"kind": "rollback", "mode": "solo", "rollback": {"since": _ago(days=1)}, "reason": "x"}),
        (f"rulings/{ruling['ruling']}/undo", {"why": "x"}),
        ("rollbacks/preview", {"mode": "solo", "rollback": {"since": _ago(days=1)}}),
    ]
    for path, body in calls:
        there = f"{ARENA}/{path}"
        answer = browser.get(there) if body is None else browser.post(there, body, content_type="application/json")
        assert (answer.status_code, answer.json().get("detail")) == (403, "Operators rule in the admin."), path
    assert [one.state for one in Ruling.objects.all()] == [Ruling.State.DONE]


def test_what_is_too_much_to_look_at_is_refused_and_can_be_done_all_the_same(
    api: ApiClient, solo: Mode, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "a.received_at < %s AND pg_sleep(0.05) IS NOT NULL"
    where = selections._where  # noqa: SLF001
    monkeypatch.setattr(selections, "_PATIENCE_MS", 100)
    monkeypatch.setattr(
        selections, "_where", lambda one: (where(one)[0].replace("a.received_at < %s", slow), where(one)[1])
    )
    asked = {"mode": "solo", "rollback": {"since": _ago(days=1)}}
    told = api("POST", f"{ARENA}/rollbacks/preview", credential=key, json=asked)
    assert (told.status_code, told.json()["code"]) == (400, "invalid_request")
    _rule(api, key, kind="rollback", **asked)
    rollbacks_run(now=datetime.now(UTC))
    assert _listed(api, solo) == []


def test_who_is_banned_is_in_no_preview(api: ApiClient, solo: Mode, key: str) -> None:
    body = {"player_id": "p-12", "score": 900, "attempt_id": str(UUID(int=99)), "dimensions": {"level": "1"}}
    assert api("POST", f"{ARENA}/modes/solo/scores", credential=make_key(solo.game), json=body).status_code == 202
    _rule(api, key, kind="hide", player_id="p-12")
    _listed(api, solo)
    asked = {"player_id": "p-12", "mode": "solo", "rollback": {"since": _ago(days=1), "attempt_id": str(UUID(int=99))}}
    told = api("POST", f"{ARENA}/rollbacks/preview", credential=key, json=asked).json()
    assert told["counting"] == 1
    assert all("p-12" not in {one["player_id"] for one in top["after"]} for top in told["tops"])
