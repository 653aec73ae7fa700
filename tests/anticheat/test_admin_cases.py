"""A case on one screen: what is known, what an act would do, the act, and undoing it."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from anticheat.models import Case, Rollback, Ruling
from anticheat.replays import Replay
from anticheat.services.rollbacks import rollbacks_run
from leaderboards.log import State
from leaderboards.models import Mode
from players.models import Ban, Player
from tests.anticheat.operators import make_operator, signed_in
from tests.anticheat.suspects import add_finding, make_case, make_crowd
from tests.anticheat.test_rulings import _top
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
ACT = "/admin/trust/act"


@pytest.fixture
def crowd() -> Mode:
    return make_crowd()


@pytest.fixture
def case(crowd: Mode) -> Case:
    return make_case(crowd)


@pytest.fixture
def client() -> Client:
    return signed_in(make_operator("superuser", "operator"))


def _page(client: Client, case: Case) -> str:
    answer = client.get(f"/admin/anticheat/case/{case.pk}/change/")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def _form(case: Case, kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "player": case.player_id, "case": case.pk, "reason": "A modified game.", **fields}


def test_a_case_says_who_what_and_why_on_one_screen(client: Client, case: Case, crowd: Mode) -> None:
    Player.objects.filter(pk=case.player_id).update(display_name="Nova", country="DE", region="eu")
    Ban.objects.create(player=case.player, reason="last year", ends_at=datetime.now(UTC) + timedelta(days=1))
    finding = add_finding(case, 14, check="pace", verdict="quarantine")
    Replay.objects.create(
        game=crowd.game, mode=crowd, player=case.player, attempt=finding.attempt, attempt_id=finding.attempt_id,
        received_at=finding.received_at, name="x", sha256=b"x", size=1, media_type="x", state="wrong",
        said="reaches 17",
    )  # fmt: skip
    page = _page(client, case)
    for told in (
        "Nova", "nova", "DE, eu", "last year", "outlier", "pace", "60 times what the player usually reaches",
        "deviation", "590", "quarantine", "counts", "disqualify", "wrong", "reaches 17",
    ):  # fmt: skip
        assert told in page, told
    assert len(re.findall(r'<circle class="dot [a-z ]*"', page)) == 2, "two attempts"
    assert page.count('class="dot counts found"') == 1
    assert page.count('<rect class="bar"') >= 5
    assert page.count('class="mark found"') == 1
    assert "style=" not in page


def test_a_case_costs_as_many_queries_whatever_is_in_it(client: Client, case: Case, crowd: Mode) -> None:
    _page(client, case)
    with CaptureQueriesContext(
        connection,
    ) as few:
        _page(client, case)
    for number in range(100, 140):
        submit(crowd, "nova", number, datetime.now(UTC), number)
        add_finding(case, number)
        Ruling.objects.create(kind="watch", game=crowd.game, player=case.player, mode=crowd, reason="x")
    Ban.objects.bulk_create(Ban(player=case.player, reason="again", kind="hidden") for _ in range(20))
    drain(crowd)
    with CaptureQueriesContext(connection) as many:
        _page(client, case)
    assert len(many) <= len(few) <= 30


def test_an_act_is_shown_before_it_is_done(client: Client, case: Case, crowd: Mode) -> None:
    answer = client.get(ACT, _form(case, "ban", until="7d", where="game", preset="", note="seen on video"))
    assert answer.status_code == 200
    page = unescape(answer.content.decode())
    assert "leaves every board of the game and may not send scores until" in page
    assert "A modified game." in page
    tops = answer.context["outlook"].tops
    assert [(top.window, top.before[0].name, top.after[0].name) for top in tops] == [
        (window, "nova", "p12") for window in ("daily", "weekly", "monthly", "alltime")
    ]
    assert tops[0].newcomers == ["p03"], "13 stood there, now 12: the third least is the tenth"
    assert not Ruling.objects.exists()
    assert not Ban.objects.exists()


@pytest.mark.parametrize(("kind", "fields"), [("reject", {"attempt": UUID(int=14)}), ("confirm", {})])
def test_what_would_be_left_is_shown_before_a_score_is_disqualified(
    client: Client, case: Case, kind: str, fields: dict[str, Any]
) -> None:
    answer = client.get(ACT, _form(case, kind, **fields))
    outlook = answer.context["outlook"]
    assert outlook.attempts == 1
    assert outlook.log_since is not None
    for top in outlook.tops:
        assert [line.name for line in top.after[:2]] == ["p12", "p11"]
        assert "nova" not in [line.name for line in top.after], "with its 15 it is the twelfth"


def test_a_rollback_of_the_last_day_is_shown_before_it_is_begun(client: Client, case: Case) -> None:
    outlook = client.get(ACT, _form(case, "rollback", since="1d")).context["outlook"]
    assert (outlook.attempts, outlook.counting, outlook.players) == (2, 2, 1)
    assert all("nova" not in [line.name for line in top.after] for top in outlook.tops)
    assert outlook.newcomers == ["p03"]
    assert not Rollback.objects.exists()


@pytest.mark.parametrize(
    ("kind", "fields", "state", "top"),
    [
        ("clear", {}, "cleared", ("nova", 900)),
        ("watch", {}, "watching", ("nova", 900)),
        ("confirm", {}, "confirmed", ("p12", 120)),
        ("reject", {"attempt": UUID(int=14)}, "open", ("p12", 120)),
        ("hide", {"until": "1d"}, "confirmed", ("p12", 120)),
        ("shadow", {"until": "ever"}, "confirmed", ("p12", 120)),
        ("suspend", {"until": "30d"}, "confirmed", ("p12", 120)),
        ("ban", {"until": "at", "until_at": "2090-01-01T10:00"}, "confirmed", ("p12", 120)),
        ("ban", {"until": "ever", "where": "mode"}, "confirmed", ("p12", 120)),
        ("rollback", {"since": "1d"}, "open", ("p12", 120)),
    ],
)
def test_each_act_reaches_the_boards_and_undone_is_as_if_it_had_not_been(  # noqa: PLR0913, PLR0917
    client: Client, case: Case, crowd: Mode, kind: str, fields: dict[str, Any], state: str, top: tuple[str, int]
) -> None:
    assert client.post(ACT, _form(case, kind, seen=0, **fields)).status_code == 302
    rollbacks_run(now=datetime.now(UTC))
    case.refresh_from_db()
    assert (case.state, _top(crowd)[0]) == (state, top)
    ruling = Ruling.objects.get()
    assert (ruling.reason, ruling.by and ruling.by.username) == ("A modified game.", "operator")
    address = f"/admin/anticheat/ruling/{ruling.pk}/"
    assert "undo" in client.get(f"{address}change/").content.decode()
    assert client.post(f"{address}undo/", {"why": "a mistake"}).status_code == 302
    rollbacks_run(now=datetime.now(UTC))
    case.refresh_from_db()
    assert (case.state, _top(crowd)[0]) == ("open", ("nova", 900))


def test_what_waits_is_released(client: Client, case: Case, crowd: Mode) -> None:
    assert 'value="clear"' in _page(client, case), "nothing waits"
    submit(crowd, "nova", 950, datetime.now(UTC), 15)  # of which no finding was kept
    with connection.cursor() as cursor:
        cursor.execute("UPDATE score_attempts SET state = %s WHERE attempt_id = %s", [State.QUARANTINED, UUID(int=15)])
    assert 'value="release"' in _page(client, case)
    client.post(ACT, _form(case, "release"))
    case.refresh_from_db()
    assert (case.state, _top(crowd)[0]) == ("cleared", ("nova", 950))
    assert State.QUARANTINED in [row[3] for row in Ruling.objects.get().before["attempts"]]


def test_one_keystroke_brings_nothing_back_that_a_person_disqualified(client: Client, case: Case, crowd: Mode) -> None:
    client.post(ACT, _form(case, "confirm"))
    submit(crowd, "nova", 100, datetime.now(UTC), 15)
    add_finding(case, 15)
    assert 'value="clear"' in _page(client, case), "there is nothing to release"
    client.post(ACT, _form(case, "release"))
    assert _top(crowd)[0] == ("p12", 120)


def test_a_ruling_opens_the_next_case(client: Client, case: Case, crowd: Mode) -> None:
    other = make_case(crowd, "p12", attempts=[], priority=0.1)
    answer = client.post(ACT, _form(case, "watch"))
    assert answer["Location"] == f"/admin/anticheat/case/{other.pk}/change/"
    answer = client.post(ACT, _form(other, "watch"))
    assert answer["Location"] == "/admin/anticheat/case/"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"reason": ""}, "Say why"),
        ({"until": "at"}, "Which time?"),
        ({"until": "at", "until_at": "2001-01-01T00:00"}, "a later time"),
        ({"kind": "suspend", "until": "ever"}, "A suspension needs an end"),
        ({"kind": "reject"}, "Which score?"),
        ({"kind": "execute"}, "not one of the available choices"),
        ({"player": 10**18}, "not one of the available choices"),
        ({"attempt": "x"}, "Enter a valid UUID"),
    ],
)
def test_an_act_that_makes_no_sense_is_refused_with_a_sentence(
    client: Client, case: Case, fields: dict[str, Any], sentence: str
) -> None:
    answer = client.post(ACT, _form(case, "ban") | fields)
    assert answer.status_code == 400
    assert sentence in unescape(answer.content.decode())
    assert not Ruling.objects.exists()


def test_two_persons_are_asked_where_the_settings_say_so(case: Case, crowd: Mode, settings: Any) -> None:
    settings.TWO_PERSONS = ["ban"]
    first, second = (signed_in(make_operator("moderator", name)) for name in ("first", "second"))
    answer = first.post(ACT, _form(case, "ban", until="ever"), follow=True)
    assert "A second person has to approve it" in answer.content.decode()
    assert _top(crowd)[0] == ("nova", 900)
    address = f"/admin/anticheat/ruling/{Ruling.objects.get().pk}/"
    assert "Approve" not in first.get(f"{address}change/").content.decode()
    first.post(f"{address}approve/")
    assert _top(crowd)[0] == ("nova", 900), "one is not two"
    assert "Approve" in second.get(f"{address}change/").content.decode()
    second.post(f"{address}approve/")
    assert _top(crowd)[0] == ("p12", 120)


def test_undoing_asks_why(client: Client, case: Case) -> None:
    client.post(ACT, _form(case, "watch"))
    ruling = Ruling.objects.get()
    client.post(f"/admin/anticheat/ruling/{ruling.pk}/undo/", {"why": " "})
    ruling.refresh_from_db()
    assert ruling.state == Ruling.State.DONE


def test_a_player_page_tells_everything_and_rules_without_a_case(client: Client, case: Case, crowd: Mode) -> None:
    address = f"/admin/players/player/{case.player_id}/change/"
    page = unescape(client.get(address).content.decode())
    for told in ("Cases", "Where it stands", "900", "See what would happen"):
        assert told in page
    form = {"kind": "ban", "player": case.player_id, "where": "game", "until": "ever", "reason": "x"}
    assert client.post(ACT, form)["Location"] == address
    assert _top(crowd)[0] == ("p12", 120)
