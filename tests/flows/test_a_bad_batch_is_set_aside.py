"""A batch that cannot be applied is out of the way of the others, is tried again by itself, and by an operator."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboards import standings
from leaderboards.models import Mode, Outbox, SetAside, Standing
from leaderboards.services.corrections import attempt_take_back
from leaderboards.services.scores import Item, scores_submit
from leaderboards.services.set_aside import TRIES, batches_retry_due
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Player
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, record_of
from tests.leaderboards.spine import drain, drained
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture
def solo() -> Mode:
    return make_mode(make_game("arena"), aggregation="sum", min_score=0, max_score=1000, max_total=10**6)


class Poison:
    """While it lasts, nothing that concerns this player can be stamped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, player_id: str) -> None:
        self.real, self.monkeypatch = standings.tell, monkeypatch
        self.player_id = player_id
        monkeypatch.setattr(standings, "tell", self)

    def __call__(self, *, mode: Mode, waiting: standings.Pending, **rest: Any) -> Any:
        bad = Player.objects.filter(player_id=self.player_id).values_list("pk", flat=True).first()
        concerned = {row.player for some in waiting.scores for row in some.rows} | waiting.placed | waiting.retold
        told = self.real(mode=mode, waiting=waiting, **rest)
        if bad in concerned:  # late, with everything written already
            raise ValueError("what nobody has thought of")
        return told

    def end(self) -> None:
        self.monkeypatch.setattr(standings, "tell", self.real)


def _totals() -> dict[str, int]:
    found = Standing.objects.filter(window="alltime", scope="").select_related("player")
    return {str(one.player.player_id): one.score for one in found}


def _later(seconds: int) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def test_the_others_go_on_and_the_rest_follows(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    poison = Poison(monkeypatch, "p-bad")
    for number, player in enumerate(("p-1", "p-bad", "p-2")):
        submit(solo, player, 5, START, number)
    drain(solo)
    assert _totals() == {"p-1": 5, "p-2": 5}
    assert not Outbox.objects.exists()
    (aside,) = SetAside.objects.all()
    assert (aside.tries, aside.error) == (1, "ValueError: what nobody has thought of")
    poison.end()
    assert batches_retry_due(now=timezone.now()) == 0, "not at once"
    assert batches_retry_due(now=_later(11)) == 1
    drain(solo)
    assert _totals() == {"p-1": 5, "p-2": 5, "p-bad": 5}
    assert not SetAside.objects.exists()


def test_of_a_large_batch_only_what_is_bad_is_left(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    Poison(monkeypatch, "p-13")
    sent = [
        Submission(player_id=f"p-{number}", score=Decimal(5), achieved_at=START, attempt_id=UUID(int=number))
        for number in range(40)
    ]
    scores_submit(game=record_of(solo.game), caller=Caller(Kind.KEY), items=[Item(solo, one) for one in sent])
    drain(solo)
    assert _totals() == {}
    for seconds in (11, 21, 41, 81):
        batches_retry_due(now=_later(seconds))
        drain(solo)
    assert _totals() == {f"p-{number}": 5 for number in range(40) if number != 13}
    (aside,) = SetAside.objects.all()
    assert aside.tries == TRIES
    assert batches_retry_due(now=_later(10_000)) == 0, "a person decides"


def test_a_score_set_aside_is_not_counted_twice_by_what_comes_meanwhile(
    solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = Poison(monkeypatch, "p-1")
    submit(solo, "p-1", 5, START, 1)
    drain(solo)
    poison.end()
    submit(solo, "p-1", 7, START, 2)
    submit(solo, "p-1", 9, START, 3)
    attempt_take_back(mode=solo, player=Player.objects.get().pk, attempt_id=UUID(int=3))
    drain(solo)
    assert _totals() == {"p-1": 12}, "told anew from the log, with what is set aside"
    batches_retry_due(now=_later(11))
    drain(solo)
    assert _totals() == {"p-1": 12}


@pytest.mark.parametrize("bad", ["p-1", "p-bad"])
def test_who_is_told_anew_beside_a_bad_batch_is_counted_once(
    solo: Mode, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    submit(solo, "p-1", 5, START, 1)
    attempt_take_back(mode=solo, player=Player.objects.get().pk, attempt_id=UUID(int=1))
    submit(solo, "p-1", 7, START, 2)
    submit(solo, "p-bad", 1, START, 3)
    poison = Poison(monkeypatch, bad)
    drain(solo)
    everyone = {"p-1": 7, "p-bad": 1}
    assert _totals() == {player: total for player, total in everyone.items() if player != bad}
    poison.end()
    batches_retry_due(now=_later(11))
    drain(solo)
    assert _totals() == everyone


def test_an_operator_tries_it_again(solo: Mode, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    poison = Poison(monkeypatch, "p-bad")
    submit(solo, "p-bad", 5, START, 1)
    drain(solo)
    poison.end()
    client.force_login(User.objects.create_superuser("boss"))
    listed = reverse("admin:leaderboards_setaside_changelist")
    page = client.get(listed).content.decode()
    assert "scores that arrived" in page
    assert "what nobody has thought of" in page
    assert "by itself, " in page
    SetAside.objects.update(tries=TRIES)
    assert "yours: select it" in client.get(listed).content.decode()
    pk = SetAside.objects.get().pk
    assert "Nothing is lost" in client.get(reverse("admin:leaderboards_setaside_change", args=[pk])).content.decode()
    asked = {"action": "try_again", "_selected_action": [pk]}
    said = client.post(reverse("admin:leaderboards_setaside_changelist"), asked, follow=True).content.decode()
    assert "1 being tried again" in said
    drain(solo)
    assert _totals() == {"p-bad": 5}
    assert not SetAside.objects.exists()


def test_what_cannot_even_be_read_is_counted_from_the_log(solo: Mode, client: Client) -> None:
    submit(solo, "p-1", 5, START, 1)
    Outbox.objects.update(payload=b"not a payload")
    submit(solo, "p-2", 7, START, 2)
    drain(solo)
    assert _totals() == {"p-2": 7}
    batches_retry_due(now=_later(11))
    assert SetAside.objects.get().tries == TRIES
    client.force_login(User.objects.create_superuser("boss"))
    asked = {"action": "try_again", "_selected_action": [SetAside.objects.get().pk]}
    said = client.post(reverse("admin:leaderboards_setaside_changelist"), asked, follow=True).content.decode()
    assert "rebuild_boards --game arena --mode solo --from-log" in said
    call_command("rebuild_boards", mode="solo", from_log=True)
    assert _totals() == {"p-1": 5, "p-2": 7}
    assert not SetAside.objects.exists()


def test_who_waits_for_a_score_that_is_set_aside_is_not_told_that_it_is_on_the_boards(
    api: ApiClient, solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, path = make_key(solo.game), "/v1/games/arena/modes/solo/scores"
    Poison(monkeypatch, "bad")
    with drained(solo):
        for player, status in (("bad", (202, "accepted")), ("good", (200, "committed"))):
            sent = {"player_id": player, "score": 7}
            answer = api("POST", path, credential=key, json=sent, headers={"Prefer": "wait=10"})
            assert (answer.status_code, answer.json()["status"]) == status
