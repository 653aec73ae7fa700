"""Sixty operators rule and undo about one player in the same moment: all are answered, and the end is consistent."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connection, transaction

from anticheat import chain
from anticheat.models import AuditEntry, Case, Rollback, Ruling
from anticheat.services.attempt_states import Logged, attempts_lock
from anticheat.services.findings import findings_record
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.rulings import ruling_make, ruling_undo
from config.audit import HOUSE
from leaderboards import log
from leaderboards.models import Mode
from leaderboards.verdicts import Found, Verdict, Weight
from players.models import Ban, Player
from players.scopes import Scope
from tests.anticheat.suspects import make_case
from tests.anticheat.test_rulings import ALL, _top
from tests.at_once import at_once
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain, drained
from tests.leaderboards.test_spine import submit
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
Kind = Ruling.Kind
MANY = 60
RULINGS = "/v1/games/arena/rulings"


@pytest.fixture
def solo() -> Mode:
    """Nova 10 and 50, Comet 20, Vega 30; a case of nova's with a finding."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number, (player, score) in enumerate([("nova", 10), ("comet", 20), ("vega", 30), ("nova", 50)], start=1):
        submit(mode, player, score, datetime.now(UTC), number)
    drain(mode)
    mode.refresh_from_db()
    make_case(mode, attempts=(4,))
    return mode


class Moderators:
    """Each request on a connection of its own, all let go together."""

    def __init__(self, web: Web, mode: Mode) -> None:
        self.origin, self.key = web.origin, make_key(mode.game, Scope.MODERATE)

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.post(f"{self.origin}{path}", json=body, headers=headers, timeout=240)

    def rule(self, kind: str, **body: Any) -> int:
        answer = self.post(RULINGS, {"kind": kind, "reason": "speed", **body})
        assert answer.status_code == 201, answer.text
        number: int = answer.json()["ruling"]
        return number

    def at_once(self, calls: list[tuple[str, dict[str, Any]]]) -> Counter[int]:
        with ThreadPoolExecutor(len(calls)) as pool:
            return Counter(answer.status_code for answer in pool.map(lambda call: self.post(*call), calls))


@pytest.fixture
def moderators(web: Web, solo: Mode) -> Moderators:
    return Moderators(web, solo)


def _undo(ruling: int) -> tuple[str, dict[str, Any]]:
    return f"{RULINGS}/{ruling}/undo", {"why": "a mistake"}


def _about_attempts(*numbers: int) -> dict[str, Any]:
    return {"player_id": "nova", "mode": "solo", "attempts": [str(UUID(int=number)) for number in numbers]}


def _states() -> Counter[str]:
    return Counter(Ruling.objects.values_list("state", flat=True))


def test_sixty_undos_about_one_player_are_all_answered(solo: Mode, moderators: Moderators) -> None:
    case = Case.objects.get().pk
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("reject", _about_attempts(1, 4)),
        ("ban", {"player_id": "nova"}),
        ("confirm", {"case": case}),
        ("reject", _about_attempts(4)),
        ("clear", {"case": case}),
        ("shadow", {"player_id": "nova", "mode": "solo"}),
    ]
    rulings = [moderators.rule(kind, **body) for _ in range(MANY // len(kinds)) for kind, body in kinds]
    with drained(solo):
        assert moderators.at_once([_undo(one) for one in rulings]) == {200: MANY}
    assert _states() == {"undone": MANY}
    _is_as_before(solo)
    assert AuditEntry.objects.filter(verb="ruling.undo").count() == MANY
    chain.verify()


def test_who_undoes_the_same_ruling_at_once_does_it_once(solo: Mode, moderators: Moderators) -> None:
    ruling = moderators.rule("confirm", case=Case.objects.get().pk)
    assert moderators.at_once([_undo(ruling)] * MANY) == {200: 1, 409: MANY - 1}
    _is_as_before(solo)
    chain.verify()


def test_a_mix_of_acts_about_one_player_ends_consistent(solo: Mode) -> None:
    """Half of sixty threads undo bans, rejections, confirmations, releases and rollbacks, half make them."""
    kinds = [Kind.BAN, Kind.REJECT, Kind.CONFIRM, Kind.RELEASE, Kind.ROLLBACK] * 6
    before = [_rule(solo, kind) for kind in kinds]
    acts = [partial(_rule, solo, kind) for kind in kinds] + [partial(_undone, ruling) for ruling in before]

    def act(number: int) -> object:
        return acts[number]()

    with drained(solo), ThreadPoolExecutor(2) as pool:
        others = [pool.submit(_rolled, 20), pool.submit(_checked, solo, 20)]
        assert len(at_once(act, threads=len(acts))) == MANY, "nobody was refused, and nobody failed"
        for other in others:
            other.result()
    chain.verify()
    left = list(Ruling.objects.filter(state=Ruling.State.DONE))
    assert len(left) == len(kinds)
    at_once(lambda number: _undone(left[number]), threads=len(left))
    while rollbacks_run(now=datetime.now(UTC)):
        drain(solo)
    assert set(Rollback.objects.values_list("state", flat=True)) == {Rollback.State.UNDONE}
    assert AuditEntry.objects.filter(verb="ruling.undo").count() == MANY
    _is_as_before(solo)
    chain.verify()


def _rule(mode: Mode, kind: str) -> Ruling:
    now = datetime.now(UTC)
    nova, case = Player.objects.get(player_id="nova"), Case.objects.get()
    ruling = Ruling(kind=kind, game=mode.game, mode=mode, player=nova, reason="speed")
    if kind in (Kind.CONFIRM, Kind.RELEASE):
        ruling.case = case
    if kind == Kind.ROLLBACK:
        ruling.rollback = Rollback(game=mode.game, mode=mode, player=nova, since=now - timedelta(days=1), until=now)
    attempts = [UUID(int=1), UUID(int=4)] if kind == Kind.REJECT else []
    return ruling_make(ruling=ruling, by=HOUSE, now=now, attempts=attempts)


def _undone(ruling: Ruling) -> Ruling:
    return ruling_undo(ruling=ruling, by=HOUSE, now=datetime.now(UTC), why="a mistake")


def _rolled(times: int) -> None:
    for _ in range(times):
        rollbacks_run(now=datetime.now(UTC))
    connection.close()


def _checked(mode: Mode, times: int) -> None:
    """Checks find more about one of the attempts, and lock it as stamping does."""
    nova = Player.objects.get(player_id="nova")
    (one,) = log.find([(nova.pk, UUID(int=4))], since=datetime(2026, 1, 1, tzinfo=UTC)).values()
    with connection.cursor() as cursor:
        cursor.execute("SELECT received_at FROM score_attempts WHERE id = %s", [one.id])
        (received,) = cursor.fetchone()
    for number in range(times):
        verdict = Verdict(check=f"check-{number}", weight=Weight.FLAG, reason="more", risk=0.5)
        with transaction.atomic():
            findings_record([Found(mode, nova.pk, one.id, UUID(int=4), received, one.score, verdict)])
            attempts_lock(mode=mode, attempts=[Logged(nova.pk, one.id, received)])
    connection.close()


def _is_as_before(mode: Mode) -> None:
    assert _top(mode) == ALL
    assert not Ban.objects.active(datetime.now(UTC)).exists()
    assert Case.objects.get().state == Case.State.OPEN
    found = log.find(
        [(Player.objects.get(player_id="nova").pk, UUID(int=n)) for n in (1, 4)], since=datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert {one.state for one in found.values()} == {log.State.ACCEPTED}
