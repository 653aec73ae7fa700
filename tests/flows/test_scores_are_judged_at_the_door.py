"""settings.SCORE_CHECKS: the strictest verdict wins, and a check that is broken lets none through."""

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from pytest_django import Settings

from anticheat.models import AuditEntry, Case, Finding
from anticheat.services import unchecked
from config.errors import RateLimited
from leaderboards import admission
from leaderboards.admission import Door
from leaderboards.candidates import Candidate
from leaderboards.models import Mode, Standing
from leaderboards.verdicts import Verdict, Weight
from players.models import Ban, Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"


class Judge:
    """By the score."""

    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, admission.Finding]:
        said: dict[int, admission.Finding] = {
            5: Verdict("judge", Weight.FLAG, "5 is the bot's", "This must not be told."),
            7: RateLimited("Seven is too many.", retry_after=1),
            8: Verdict("judge", Weight.QUARANTINE, "8", "Eight looks odd."),
            9: Verdict("judge", Weight.REJECT, "9", "Nine cannot be."),
        }
        return {index: said[one.score] for index, one in enumerate(batch) if one.score in said}


class Stricter:
    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, admission.Finding]:
        odd = Verdict("stricter", Weight.QUARANTINE, "8 or more", "So it does.")
        return {index: odd for index, one in enumerate(batch) if one.score >= 8}


class Broken:
    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, admission.Finding]:
        raise ZeroDivisionError


@pytest.fixture
def solo(settings: Settings) -> Mode:
    settings.SCORE_CHECKS = [f"{__name__}.Judge", f"{__name__}.Stricter"]
    return make_mode(make_game("arena"), min_score=0, max_score=1000)


def _send(api: ApiClient, mode: Mode, **body: Any) -> Any:
    return api("POST", f"{SOLO}/scores", credential=make_key(mode.game), json={"player_id": "p-1", **body})


def _attempt(api: ApiClient, mode: Mode, attempt_id: str) -> Any:
    return api.get(f"/v1/games/arena/players/p-1/attempts/{attempt_id}", credential=make_key(mode.game)).json()


def test_what_a_check_refuses_is_answered_and_not_logged(api: ApiClient, solo: Mode) -> None:
    answer = _send(api, solo, score=7)
    assert (told(answer), answer.headers["Retry-After"]) == ((429, "rate_limited"), "1")
    assert not Player.objects.exists()


@pytest.mark.parametrize(
    ("score", "state", "reasons"),
    [(8, "quarantined", ["Eight looks odd.", "So it does."]), (9, "rejected", ["Nine cannot be.", "So it does."])],
)
def test_what_is_not_clean_is_logged_and_on_no_board(
    api: ApiClient, solo: Mode, score: int, state: str, reasons: list[str]
) -> None:
    answer = _send(api, solo, score=score)
    assert (answer.status_code, answer.json()["fraud_check"]) == (202, state)
    assert answer.json()["improved"] is False, "it is on no board"
    attempt = _attempt(api, solo, answer.json()["attempt_id"])
    assert (attempt["state"], attempt["reasons"]) == (state, reasons)
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime").json()["total"] == 0
    assert _send(api, solo, score=6).json()["fraud_check"] == "clean"
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 6


def test_in_a_batch_each_is_judged_for_itself(api: ApiClient, solo: Mode) -> None:
    scores = [{"mode": "solo", "player_id": f"p-{score}", "score": score} for score in (6, 7, 8, 9, 5)]
    answer = api("POST", "/v1/games/arena/scores", credential=make_key(solo.game), json={"scores": scores}).json()
    assert (answer["accepted"], [(one["index"], one["code"]) for one in answer["errors"]]) == (4, [(1, "rate_limited")])
    drain(solo)
    entries = api.get(f"{SOLO}/leaderboards/alltime").json()["entries"]
    assert [entry["player_id"] for entry in entries] == ["p-6", "p-5"]


def test_a_check_that_breaks_lets_nothing_through_and_loses_nothing(
    api: ApiClient, solo: Mode, settings: Settings
) -> None:
    settings.SCORE_CHECKS = [f"{__name__}.Broken"]
    answer = _send(api, solo, score=1)
    assert (answer.status_code, answer.json()["fraud_check"]) == (202, "quarantined")
    assert _attempt(api, solo, answer.json()["attempt_id"])["state"] == "quarantined"
    assert not Case.objects.exists(), "nothing is known against the player"


class Silent:
    def judge(self, batch: Sequence[Candidate], door: Door) -> Mapping[int, admission.Finding]:
        odd = Verdict("silent", Weight.QUARANTINE, "3 is odd, and nobody is told")
        return {index: odd for index, one in enumerate(batch) if one.score == 3}


def _release_unchecked(*options: str, since: datetime) -> str:
    out = io.StringIO()
    call_command("release_unchecked", "--mode=solo", f"--since={since.isoformat()}", *options, stdout=out)
    return out.getvalue()


def test_what_only_a_broken_check_holds_is_found_and_let_go(
    api: ApiClient, solo: Mode, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = timezone.now()
    settings.SCORE_CHECKS = [f"{__name__}.{name}" for name in ("Broken", "Judge", "Silent", "Broken")]
    for score in (1, 2, 3, 5, 8, 9):  # 3 and 8 are held by others too, 9 is rejected, 5 is only flagged
        _send(api, solo, score=score, player_id=f"p-{score}")
    settings.SCORE_CHECKS = []
    now = timezone.now()
    assert _release_unchecked(since=now) == "0 attempts count now.\n"
    assert _release_unchecked("--dry-run", since=begins) == "3 attempts would count. Nothing was written.\n"
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime").json()["entries"] == []
    monkeypatch.setattr(unchecked, "AT_ONCE", 2)
    assert _release_unchecked(since=begins) == "3 attempts count now.\n"
    drain(solo)
    listed = api.get(f"{SOLO}/leaderboards/alltime").json()["entries"]
    assert [entry["player_id"] for entry in listed] == ["p-5", "p-2", "p-1"]
    entries = AuditEntry.objects.filter(verb="mode.release_unchecked").order_by("seq")
    assert [(one.command, one.mode, one.after["attempts"]) for one in entries] == [
        ("release_unchecked", solo.pk, 2),
        ("release_unchecked", solo.pk, 1),
    ]
    with pytest.raises(CommandError, match="--until"):
        _release_unchecked(f"--until={begins.isoformat()}", since=now)


def test_a_flag_is_found_in_a_case_and_nowhere_else(api: ApiClient, solo: Mode) -> None:
    attempt_id = str(uuid4())
    flagged, clean = _send(api, solo, score=5, attempt_id=attempt_id), _send(api, solo, score=4, player_id="p-2")
    assert flagged.json() | {"attempt_id": 0, "player_id": 0, "score": 0} == clean.json() | {
        "attempt_id": 0, "player_id": 0, "score": 0
    }  # fmt: skip
    assert (_attempt(api, solo, attempt_id)["state"], _attempt(api, solo, attempt_id)["reasons"]) == ("accepted", [])
    drain(solo)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 5
    assert _send(api, solo, score=5, attempt_id=attempt_id).json()["duplicate"]
    found = Finding.objects.get()
    assert (found.case.player.player_id, found.attempt_id, found.score) == ("p-1", UUID(attempt_id), 5)
    assert (found.check_name, found.verdict, found.reason) == ("judge", "flag", "5 is the bot's")


def test_all_that_is_held_back_at_the_door_is_in_a_case(api: ApiClient, solo: Mode) -> None:
    scores = [{"mode": "solo", "player_id": f"p-{score}", "score": score} for score in (6, 7, 8, 9)]
    api("POST", "/v1/games/arena/scores", credential=make_key(solo.game), json={"scores": scores})
    found = {(one.case.player.player_id, one.check_name, one.verdict) for one in Finding.objects.all()}
    assert found == {
        ("p-8", "judge", "quarantine"),
        ("p-8", "stricter", "quarantine"),
        ("p-9", "judge", "reject"),
        ("p-9", "stricter", "quarantine"),
    }


def test_what_was_taken_stays_taken_when_it_would_be_refused_by_now(api: ApiClient, solo: Mode) -> None:
    """A window closes, a ban comes, a mode is closed: a retry is told the first outcome, not the refusal."""
    late = datetime.now(UTC) - timedelta(minutes=1)
    body: dict[str, Any] = {"score": 5, "attempt_id": str(uuid4()), "achieved_at": late.isoformat()}
    first = _send(api, solo, **body)
    assert first.status_code == 202
    Mode.objects.update(active=False)
    again = _send(api, solo, **body)
    assert (again.status_code, again.json()["windows"]) == (200, first.json()["windows"])
    assert told(_send(api, solo, **body | {"score": 6})) == (422, "mode_inactive"), "what was not taken is refused"
    Mode.objects.update(active=True)
    Ban.objects.create(player=Player.objects.get(), kind=Ban.Kind.BAN, reason="r", starts_at=timezone.now())
    assert _send(api, solo, **body).status_code == 200
    assert told(_send(api, solo, score=5)) == (422, "player_banned")


def test_a_total_beyond_its_range_waits_for_a_look(api: ApiClient) -> None:
    mode = make_mode(make_game("arena"), aggregation="sum", min_score=0, max_score=60, max_total=100)
    first, second, third = (_send(api, mode, score=score).json()["attempt_id"] for score in (60, 60, 40))
    drain(mode)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 100
    assert [_attempt(api, mode, one)["state"] for one in (first, second, third)] == [
        "accepted",
        "quarantined",
        "accepted",
    ]
    assert _attempt(api, mode, second)["reasons"] == ["The total would leave the range that the mode allows."]
    assert {one.score for one in Standing.objects.all()} == {100}


def test_a_total_without_a_declared_range_stays_exact(api: ApiClient) -> None:
    mode = make_mode(make_game("arena"), aggregation="sum")
    for _ in range(3):
        assert _send(api, mode, score=2**52).status_code == 202
    drain(mode)
    assert api.get(f"{SOLO}/leaderboards/alltime/players/p-1").json()["score"] == 2**53


def test_who_waits_for_the_boards_hears_that_it_is_held_back(api: ApiClient, solo: Mode) -> None:
    body = {"player_id": "p-1", "score": 8}
    answer = api("POST", f"{SOLO}/scores", credential=make_key(solo.game), json=body, headers={"Prefer": "wait=1"})
    assert (answer.status_code, answer.json()["status"], answer.json()["fraud_check"]) == (
        202,
        "accepted",
        "quarantined",
    )
