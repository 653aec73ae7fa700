"""The queue: what matters most comes first, two operators never get the same, and nobody judges itself."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anticheat.errors import RulingRefused
from anticheat.models import AuditEntry, Case, OwnPlayer, Rollback, Ruling
from anticheat.services.cases import case_hold, case_next, case_snooze
from config.audit import HOUSE
from leaderboards.models import Mode
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import make_case, make_crowd

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "/admin/anticheat/case/"


@pytest.fixture
def crowd() -> Mode:
    return make_crowd()


@pytest.fixture
def cases(crowd: Mode) -> list[Case]:
    """By priority: nova, p12, p11, p10."""
    urgent = {"nova": 0.9, "p12": 0.5, "p11": 0.3, "p10": 0.1}
    return [
        make_case(crowd, player, attempts=[14] if player == "nova" else [], priority=priority)
        for player, priority in urgent.items()
    ]


def _now() -> datetime:
    return datetime.now(UTC)


def _listed(client: Client, query: str = "") -> list[str]:
    answer = client.get(QUEUE + query)
    assert answer.status_code == 200
    return [case.player.player_id for case in answer.context["cl"].result_list]


def test_open_cases_are_listed_the_most_urgent_first(cases: list[Case]) -> None:
    client = signed_in(make_operator("moderator"))
    assert _listed(client) == ["nova", "p12", "p11", "p10"]
    Case.objects.filter(pk=cases[1].pk).update(state=Case.State.CLEARED)
    assert _listed(client) == ["nova", "p11", "p10"]
    assert _listed(client, "?state=cleared") == ["p12"]
    assert len(_listed(client, "?state=all")) == 4


def test_cases_are_found_by_check_mode_and_game(cases: list[Case]) -> None:
    other = make_case(make_crowd("other"), priority=0.05, check="pace")
    client = signed_in(make_operator("viewer"))
    assert _listed(client, "?check=outlier") == ["nova"]
    assert _listed(client, f"?mode={other.mode_id}") == ["nova"]
    assert len(_listed(client, f"?game__id__exact={cases[0].game_id}")) == 4


def test_the_next_case_opens_by_itself_and_is_held(cases: list[Case]) -> None:
    moderator = make_operator("moderator")
    answer = signed_in(moderator).post(f"{QUEUE}next/")
    assert answer["Location"] == f"{QUEUE}{cases[0].pk}/change/"
    held = Case.objects.get(pk=cases[0].pk)
    assert held.held_by == moderator
    assert held.held_until is not None
    assert held.held_until > _now() + timedelta(minutes=14)


def test_what_another_holds_is_passed_over_until_its_time_is_over(cases: list[Case]) -> None:
    first, second = make_operator("moderator", "first"), make_operator("moderator", "second")
    assert case_next(user=first, now=_now()) == cases[0]
    assert case_next(user=second, now=_now()) == cases[1]
    assert case_next(user=second, now=_now() + timedelta(minutes=16)) == cases[0]


def test_two_who_ask_at_once_never_get_the_same(cases: list[Case]) -> None:
    users = [make_operator("moderator", f"m{number}") for number in range(4)]
    start = Barrier(4)

    def ask(user: User) -> int | None:
        try:
            start.wait(10)
            found = case_next(user=user, now=_now())
            return found and found.pk
        finally:
            connection.close()

    for _ in range(5):
        Case.objects.update(held_by=None, held_until=None)
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(ask, users))
        assert sorted(filter(None, found)) == sorted(case.pk for case in cases)


def test_next_goes_on_from_the_case_at_hand_and_around(cases: list[Case]) -> None:
    moderator = make_operator("moderator")
    seen = [case_next(user=moderator, now=_now())]
    for _ in range(4):
        seen.append(case_next(user=moderator, now=_now(), after=seen[-1]))
    assert seen == [*cases, cases[0]]
    assert Case.objects.filter(held_by=moderator).count() == 1


def test_a_case_put_off_comes_back(cases: list[Case]) -> None:
    moderator = make_operator("moderator")
    case_snooze(case=cases[0], user=moderator, until=_now() + timedelta(days=1), now=_now(), who=HOUSE)
    assert AuditEntry.objects.filter(verb="case.snooze").count() == 1
    assert case_next(user=moderator, now=_now()) == cases[1]
    Case.objects.update(held_by=None, held_until=None)
    assert case_next(user=moderator, now=_now() + timedelta(days=1, minutes=1)) == cases[0]


def test_who_does_not_hold_it_cannot_rule_on_it(cases: list[Case]) -> None:
    first, second = make_operator("moderator", "first"), make_operator("moderator", "second")
    case_hold(case=cases[0], user=first, now=_now())
    with pytest.raises(RulingRefused):
        case_hold(case=cases[0], user=second, now=_now())
    form = {"kind": "watch", "player": cases[0].player_id, "case": cases[0].pk}
    answer = signed_in(second).post("/admin/trust/act", form)
    assert answer.status_code == 400
    assert b"first is looking at it" in answer.content
    assert not Ruling.objects.exists()


def test_what_was_ruled_meanwhile_is_not_ruled_again(cases: list[Case]) -> None:
    client = signed_in(make_operator("moderator"))
    form = {"kind": "watch", "player": cases[0].player_id, "case": cases[0].pk, "seen": 0}
    assert client.post("/admin/trust/act", form).status_code == 302
    assert client.post("/admin/trust/act", form).status_code == 400
    assert Ruling.objects.count() == 1


def test_an_operators_own_case_is_somebody_elses(cases: list[Case]) -> None:
    moderator = make_operator("moderator")
    OwnPlayer.objects.create(user=moderator, player=cases[0].player)
    client = signed_in(moderator)
    assert _listed(client) == ["p12", "p11", "p10"]
    assert case_next(user=moderator, now=_now()) == cases[1]
    assert client.get(f"{QUEUE}{cases[0].pk}/change/").status_code == 404
    for kind in ("watch", "ban"):
        form = {"kind": kind, "player": cases[0].player_id, "reason": "me"}
        assert client.post("/admin/trust/act", form).status_code == 403
    assert client.post("/admin/trust/act", form | {"case": cases[0].pk}).status_code == 403
    assert not Ruling.objects.exists()


def test_an_empty_queue_says_so(crowd: Mode) -> None:
    answer = signed_in(make_operator("moderator")).post(f"{QUEUE}next/", follow=True)
    assert b"No case waits" in answer.content


@pytest.mark.parametrize("path", ["case", "ruling", "rollback"])
def test_a_list_costs_as_many_queries_however_long_it_is(crowd: Mode, path: str) -> None:
    client = signed_in(make_operator("viewer"))
    costs = []
    for players in (["p01"], [f"p{number:02}" for number in range(2, 13)]):
        for player in players:
            case = make_case(crowd, player, attempts=[int(player[1:])], held_by=make_operator("moderator", player))
            span = {"since": _now() - timedelta(days=1), "until": _now()}
            rollback = Rollback.objects.create(game=crowd.game, mode=crowd, player=case.player, **span)
            about = {"game": crowd.game, "mode": crowd, "player": case.player, "by": case.held_by}
            Ruling.objects.create(kind="rollback", reason="x", rollback=rollback, case=case, **about)
        client.get(f"/admin/anticheat/{path}/")
        with CaptureQueriesContext(connection) as asked:
            assert len(client.get(f"/admin/anticheat/{path}/").context["cl"].result_list) == Case.objects.count()
        costs.append(len(asked))
    assert costs[0] == costs[1] <= 15
