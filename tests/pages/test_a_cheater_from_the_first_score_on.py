"""A cheater's day from its first score on, over the API and in the admin: refused, held, found, confirmed, banned,
rolled back; every board is right each time, and undone all of it is back.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import jwt
import pytest

from anticheat.models import Case, Rollback, Ruling
from anticheat.services.rollbacks import rollbacks_run
from leaderboards.models import Mode
from tests.factories import make_game, make_key, make_mode, make_player, make_token
from tests.leaderboards.spine import drain
from tests.live import Web
from tests.pages.browser import Visitor

WINDOWS, SCOPES = ("daily", "weekly", "monthly", "alltime"), ("global", "region:eu", "level:7")
USUAL = [100, 104, 97, 101, 99, 103, 98, 102]
SUBTLE, ABSURD = 210, 900_000


class Day:
    def __init__(self, web: Web) -> None:
        self.web, self.game = web, make_game("arena")
        rules: dict[str, Any] = {"min_score": 0, "max_score": 1_000_000, "dimensions": ("region", "level")}
        self.solo: Mode = make_mode(self.game, "solo", checks={"jump": {"max": 5000}}, **rules)
        self.ranked = make_mode(self.game, "ranked", submit="token", **rules)
        self.key, self.scores = make_key(self.game), 0
        for name in ("nova", *(f"p{number}" for number in range(1, 13))):
            make_player(self.game, name, region="eu")

    def send(self, player: str, score: int, *, attempt: UUID | None = None) -> Any:
        body = {
            "player_id": player,
            "score": score,
            "dimensions": {"level": "7"},
            "attempt_id": str(attempt or uuid4()),
        }
        body["achieved_at"] = (datetime.now(UTC) - timedelta(seconds=6 - self.scores / 10)).isoformat()
        self.scores += 1
        return self.post("solo", body, self.key)

    def post(self, mode: str, body: dict[str, Any], credential: str) -> Any:
        headers = {"Authorization": f"Bearer {credential}"}
        path = f"/v1/games/arena/modes/{mode}/scores"
        return httpx.post(self.web.origin + path, json=body, headers=headers, timeout=60)

    def boards(self) -> list[tuple[str, int]]:
        """Which all agree, once what was decided is on them."""
        rollbacks_run(now=datetime.now(UTC))
        drain(self.solo)
        found = []
        for window in WINDOWS:
            for scope in SCOPES:
                path = f"/v1/games/arena/modes/solo/leaderboards/{window}?scope={scope}&limit=50"
                entries = httpx.get(self.web.origin + path, timeout=60).json()["entries"]
                assert [one["rank"] for one in entries] == list(range(1, len(entries) + 1))
                found.append([(one["player_id"], one["score"]) for one in entries])
        assert all(board == found[0] for board in found), found
        return found[0]


@pytest.fixture
def day(web: Web) -> Day:
    return Day(web)


def test_a_cheaters_day(day: Day, operator: Visitor) -> None:
    honest = [(f"p{number}", 110 + number) for number in range(12, 0, -1)]
    for player, score in honest:
        assert day.send(player, score).status_code == 202
    for score in USUAL:
        assert day.send("nova", score).status_code == 202
    usual = [*honest, ("nova", max(USUAL))]
    assert day.boards() == usual

    refused = _with_a_forged_token(day)
    assert (refused.status_code, refused.json()["code"]) == (422, "token_invalid")
    absurd = uuid4()
    assert day.send("nova", ABSURD, attempt=absurd).status_code == 202
    assert day.boards() == usual, "on no board at any time"
    headers = {"Authorization": f"Bearer {day.key}"}
    path = f"/v1/games/arena/players/nova/attempts/{absurd}"
    told = httpx.get(day.web.origin + path, headers=headers, timeout=60).json()
    assert told["state"] == "quarantined"
    assert day.send("nova", SUBTLE).json()["fraud_check"] in ("clean", "pending")
    cheated = [("nova", SUBTLE), *honest]
    assert day.boards() == cheated
    case = Case.objects.get()
    assert {(one.check_name, one.verdict) for one in case.findings.all()} == {
        ("jump", "quarantine"),
        ("outlier", "flag"),
    }

    assert operator.visit("/admin/anticheat/case/") == 200
    assert operator.submit("Next case n") == 200
    assert f"/case/{case.pk}/" in operator.page.url
    operator.page.keyboard.press("c")
    operator.page.wait_for_selector(".messagelist")
    assert day.boards() == usual, "confirmed: neither counts"

    _ban(operator, case)
    assert day.boards() == honest
    _roll_back_the_last_day(operator, case)
    assert day.boards() == honest
    for kind in ("ban", "rollback", "confirm"):
        _undo(operator, Ruling.objects.get(kind=kind))
    assert day.boards() == cheated, "undone, everything is back"
    assert Rollback.objects.get().state == Rollback.State.UNDONE


def _with_a_forged_token(day: Day) -> Any:
    attempt, now = uuid4(), datetime.now(UTC)
    claims = {"iss": "arena", "sub": "nova", "typ": "attempt", "jti": str(attempt), "mode": "ranked", "cap": 10**6}
    claims |= {"iat": now, "exp": now + timedelta(minutes=5)}
    token = jwt.encode(claims, "a secret of the cheater's own, long enough", algorithm="HS256")
    body = {"score": ABSURD, "attempt_id": str(attempt), "attempt_token": token}
    return day.post("ranked", body, make_token(day.game, "nova"))


def _ban(operator: Visitor, case: Case) -> None:
    operator.visit(f"/admin/anticheat/case/{case.pk}/change/")
    operator.page.locator("#id_kind").select_option("ban")
    operator.page.locator("#id_preset").select_option(index=1)
    assert operator.submit("See what would happen") == 200
    assert operator.submit("Ban") == 200


def _roll_back_the_last_day(operator: Visitor, case: Case) -> None:
    operator.visit(f"/admin/anticheat/case/{case.pk}/change/")
    operator.page.locator("#id_kind").select_option("rollback")
    operator.page.locator("#id_preset").select_option(index=1)
    assert operator.submit("See what would happen") == 200
    assert f"{len(USUAL) + 2} attempts" in operator.text()
    assert operator.submit("Roll back") == 200


def _undo(operator: Visitor, ruling: Ruling) -> None:
    operator.visit(f"/admin/anticheat/ruling/{ruling.pk}/change/")
    operator.page.get_by_label("Why").fill("A mistake of ours.")
    assert operator.submit("Undo") == 200
