"""settings.STAMP_CHECKS: what needs history is judged on the way to the boards; what is held back never gets there."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from anticheat.models import Case, Finding, Rollback, Ruling
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.rulings import ruling_make, ruling_undo
from config.audit import HOUSE
from leaderboards import folding, judging
from leaderboards.history import LogHistory, cohorts
from leaderboards.improvements import History, Improvement
from leaderboards.models import Mode, Standing
from leaderboards.services.corrections import attempt_restore, attempt_take_back
from leaderboards.verdicts import Found, Verdict, Weight
from players.models import Player
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain, drained

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
STEP = {"jump": {"max": 100}}


class ByScore:
    """Reads the verdict off the score's last digit."""

    name = "by_score"

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        weights = {7: Weight.FLAG, 8: Weight.QUARANTINE, 9: Weight.REJECT}
        return {
            index: Verdict(self.name, weights[one.score % 10], f"{one.score}", "It ends oddly.", risk=0.4)
            for index, one in enumerate(some)
            if one.score % 10 in weights
        }

    def may_hold(self, mode: Mode) -> bool:
        return True


class Broken:
    name = "broken"

    def judge(self, mode: Mode, some: Sequence[Improvement], look: History) -> Mapping[int, Verdict]:
        raise ZeroDivisionError

    def may_hold(self, mode: Mode) -> bool:
        return False


class BrokenAndStrict(Broken):
    def may_hold(self, mode: Mode) -> bool:
        return True


class Arena:
    """A mode, and a game server that plays in it."""

    def __init__(self, api: ApiClient, **rules: Any) -> None:
        self.mode = make_mode(make_game("arena"), **{"min_score": 0, "max_score": 100_000, **rules})
        self.key = make_key(self.mode.game)
        self.api = api

    def send(self, score: int, player: str = "p-1", **request: Any) -> Any:
        body = {"player_id": player, "score": score, "attempt_id": str(uuid4())}
        return self.api("POST", f"{SOLO}/scores", credential=self.key, json=body, **request).json()

    def batch(self, *scores: tuple[str, int], **more: Any) -> None:
        items = [{"mode": "solo", "player_id": player, "score": score, **more} for player, score in scores]
        answer = self.api("POST", "/v1/games/arena/scores", credential=self.key, json={"scores": items}).json()
        assert answer["accepted"] == len(items)

    def played(self, score: int, player: str = "p-1") -> Any:
        sent = self.send(score, player)
        drain(self.mode)
        return sent

    def board(self, window: str = "alltime", scope: str = "global") -> list[tuple[str, int]]:
        entries = self.api.get(f"{SOLO}/leaderboards/{window}?scope={scope}").json()["entries"]
        return [(entry["player_id"], entry["score"]) for entry in entries]

    def attempt(self, sent: Any, player: str = "p-1") -> Any:
        path = f"/v1/games/arena/players/{player}/attempts/{sent['attempt_id']}"
        return self.api.get(path, credential=self.key).json()

    def states(self, player: str = "p-1") -> dict[int, str]:
        found = self.api.get(f"/v1/games/arena/players/{player}/attempts", credential=self.key).json()["attempts"]
        return {one["score"]: one["state"] for one in found}


@pytest.fixture
def arena(api: ApiClient) -> Callable[..., Arena]:
    return lambda **rules: Arena(api, **rules)


@pytest.fixture
def by_score(settings: Settings) -> None:
    settings.STAMP_CHECKS = [f"{__name__}.ByScore"]


def test_an_impossible_step_reaches_no_board_and_what_counted_still_does(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP, dimensions=["level"])
    solo.batch(("p-1", 500), dimensions={"level": "7"})
    drain(solo.mode)
    solo.batch(("p-1", 90_000), ("p-2", 40), dimensions={"level": "7"})
    drain(solo.mode)
    for window in ("daily", "weekly", "monthly", "alltime"):
        for scope in ("global", "level:7"):
            assert solo.board(window, scope) == [("p-1", 500), ("p-2", 40)]
    assert {row.score for row in Standing.objects.all()} == {500, 40}
    assert solo.states() == {500: "accepted", 90_000: "quarantined"}
    case = Case.objects.get()
    assert (case.player.player_id, case.state, case.rank) == ("p-1", "open", 1)
    assert [(one.check_name, one.verdict, one.score) for one in case.findings.all()] == [("jump", "quarantine", 90_000)]


def test_of_many_sent_at_once_the_best_that_is_believable_counts(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    solo.played(500)
    solo.batch(("p-1", 9000), ("p-2", 130), ("p-1", 590), ("p-1", 8000), ("p-1", 510), ("p-1", 601))
    drain(solo.mode)
    assert solo.board() == [("p-1", 590), ("p-2", 130)]
    assert solo.states() == {
        500: "accepted", 510: "accepted", 590: "accepted", 601: "quarantined", 8000: "quarantined", 9000: "quarantined"
    }  # fmt: skip
    assert Case.objects.get().findings.count() == 3


def test_however_many_one_player_sends_a_batch_is_folded_twice(
    arena: Callable[..., Arena], monkeypatch: pytest.MonkeyPatch
) -> None:
    solo, folded, real = arena(checks=STEP), list[int](), folding.fold
    solo.played(500)

    def counted(mode: Mode, commits: Any, judge: Any) -> Any:
        folded.append(1)
        return real(mode, commits, judge)

    monkeypatch.setattr(folding, "fold", counted)
    solo.batch(*[("p-1", 2000 + n) for n in range(300)])
    drain(solo.mode)
    assert len(folded) == 2
    assert solo.board() == [("p-1", 500)]


def test_where_scores_add_up_one_too_large_is_left_out(arena: Callable[..., Arena]) -> None:
    solo = arena(aggregation="sum", checks=STEP)
    solo.batch(("p-1", 10), ("p-1", 5000), ("p-1", 20), ("p-2", 7000))
    drain(solo.mode)
    assert solo.board() == [("p-1", 30)]
    assert solo.states() == {10: "accepted", 5000: "quarantined", 20: "accepted"}
    solo.played(100)
    assert solo.board() == [("p-1", 130)], "as much as is possible is possible"


def test_where_the_last_score_counts_the_one_before_stays(arena: Callable[..., Arena]) -> None:
    solo = arena(aggregation="latest", checks=STEP)
    solo.played(500)
    solo.played(90_000)
    assert solo.board() == [("p-1", 500)]
    solo.played(3)
    assert solo.board() == [("p-1", 3)], "a worse one is nobody's suspicion"


def test_a_lap_too_fast_is_held_back_where_less_is_better(arena: Callable[..., Arena]) -> None:
    laps = arena(order="asc", checks=STEP)
    laps.played(900)
    laps.played(10)
    assert laps.board() == [("p-1", 900)]
    laps.played(850)
    assert laps.board() == [("p-1", 850)]


def test_the_longest_window_is_judged_where_there_is_no_all_time(arena: Callable[..., Arena]) -> None:
    solo = arena(windows=["daily", "weekly"], checks=STEP)
    solo.played(500)
    solo.played(9000)
    assert solo.board("weekly") == solo.board("daily") == [("p-1", 500)]


def test_a_flagged_score_is_told_and_shown_as_a_clean_one(arena: Callable[..., Arena], by_score: None) -> None:
    solo = arena()
    clean, flagged = solo.played(506, "p-1"), solo.played(507, "p-2")
    own = ("attempt_id", "player_id", "score", "rank_before", "rank_after", "total")
    assert {name: told for name, told in flagged.items() if name not in own} == {
        name: told for name, told in clean.items() if name not in own
    }
    assert solo.board() == [("p-2", 507), ("p-1", 506)]
    states = [solo.attempt(clean, "p-1"), solo.attempt(flagged, "p-2")]
    assert [(one["state"], one["reasons"]) for one in states] == [("accepted", [])] * 2
    token = make_token(solo.mode.game, "p-2")
    assert solo.api.get(f"{SOLO}/leaderboards/alltime/me", credential=token).json()["pending"] == []
    found = Finding.objects.get()
    assert (found.case.player.player_id, found.verdict, found.attempt_id) == (
        "p-2", "flag", UUID(flagged["attempt_id"])
    )  # fmt: skip


def test_what_is_rejected_counts_nowhere_and_says_why(arena: Callable[..., Arena], by_score: None) -> None:
    solo = arena()
    sent = solo.played(509)
    assert (solo.attempt(sent)["state"], solo.attempt(sent)["reasons"]) == ("rejected", ["It ends oddly."])
    assert solo.board() == []


def test_who_waits_hears_the_last_word(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    solo.played(500)
    with drained(solo.mode):
        held = solo.send(9000, headers={"Prefer": "wait=10"})
        good = solo.send(550, headers={"Prefer": "wait=10"})
    assert (held["status"], held["fraud_check"], held["improved"], held["delta"]) == (
        "accepted",
        "quarantined",
        False,
        0,
    )
    assert (good["status"], good["fraud_check"]) == ("committed", "clean")


def test_a_check_to_come_is_said_where_it_may_hold_the_score_back(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    assert solo.played(500)["fraud_check"] == "pending"
    assert solo.send(400)["fraud_check"] == "clean", "nothing comes of it"
    Mode.objects.update(checks={})
    assert solo.send(550)["fraud_check"] == "clean", "by default checks only flag"


def test_the_player_and_the_game_see_what_waits_and_nobody_else(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    solo.played(500)
    sent = solo.played(9000)
    path = f"{SOLO}/leaderboards/alltime/players/p-1"
    waiting = [{"attempt_id": sent["attempt_id"], "score": 9000, "achieved_at": solo.attempt(sent)["achieved_at"]}]
    own, other = make_token(solo.mode.game, "p-1"), make_token(solo.mode.game, "p-2")
    for credential in (own, solo.key):
        assert solo.api.get(path, credential=credential).json()["pending"] == waiting
    assert solo.api.get(f"{SOLO}/leaderboards/alltime/me", credential=own).json()["pending"] == waiting
    for credential in ("", other):
        assert solo.api.get(path, credential=credential).json()["pending"] == []


def test_of_a_level_only_what_waits_there_is_said(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP, dimensions=("region", "level"))
    solo.batch(("p-1", 500))
    drain(solo.mode)
    for score, level in ((9000, "3"), (9001, "7")):
        solo.batch(("p-1", score), dimensions={"level": level})
    drain(solo.mode)

    def waiting(scope: str) -> list[int]:
        path = f"{SOLO}/leaderboards/alltime/players/p-1?scope={scope}"
        return [one["score"] for one in solo.api.get(path, credential=solo.key).json()["pending"]]

    assert [waiting(f"level:{level}") for level in (3, 7, 9)] == [[9000], [9001], []]
    assert [waiting(scope) for scope in ("global", "region:eu")] == [[9001, 9000]] * 2


def test_what_is_decided_by_people_is_not_judged_again(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    solo.played(500)
    sent = solo.played(9000)
    player = Player.objects.get()
    with connection.cursor() as cursor:  # released
        cursor.execute("UPDATE score_attempts SET state = 3 WHERE attempt_id = %s", [sent["attempt_id"]])
    attempt_restore(mode=solo.mode, player=player.pk, attempt_id=UUID(sent["attempt_id"]))
    drain(solo.mode)
    assert solo.board() == [("p-1", 9000)]


def test_what_comes_beside_a_correction_is_judged_too(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    first, second = solo.played(500), solo.played(550)
    player = Player.objects.get()
    solo.batch(("p-1", 9000), ("p-1", 601), ("p-1", 590))
    attempt_take_back(mode=solo.mode, player=player.pk, attempt_id=UUID(second["attempt_id"]))
    drain(solo.mode)
    assert solo.board() == [("p-1", 590)]
    assert solo.states() == {
        500: "accepted", 550: "taken_back", 9000: "quarantined", 601: "quarantined", 590: "accepted"
    }  # fmt: skip
    solo.batch(("p-1", 595))
    attempt_take_back(mode=solo.mode, player=player.pk, attempt_id=UUID(first["attempt_id"]))
    drain(solo.mode)
    assert solo.board() == [("p-1", 595)]


@pytest.mark.parametrize("aggregation", ["best", "sum"])
def test_what_was_taken_back_before_it_was_judged_is_judged_and_does_not_count_when_given_back(
    arena: Callable[..., Arena], aggregation: str
) -> None:
    solo = arena(checks=STEP, aggregation=aggregation)
    solo.played(50)
    player = Player.objects.get()
    sent = [solo.send(score) for score in (9000, 8000, 60)]
    for one in sent:
        attempt_take_back(mode=solo.mode, player=player.pk, attempt_id=UUID(one["attempt_id"]))
    drain(solo.mode)
    assert solo.board() == [("p-1", 50)]
    assert solo.states() == {50: "accepted", 60: "taken_back", 8000: "quarantined", 9000: "quarantined"}
    assert sorted(Finding.objects.values_list("score", "verdict")) == [(8000, "quarantine"), (9000, "quarantine")]
    attempt_restore(mode=solo.mode, player=player.pk, attempt_id=UUID(sent[2]["attempt_id"]))
    drain(solo.mode)
    assert solo.board() == [("p-1", 60 if aggregation == "best" else 110)]


def test_what_was_rolled_back_before_it_was_judged_does_not_count_when_that_is_undone(
    arena: Callable[..., Arena],
) -> None:
    solo = arena(checks=STEP)
    solo.played(50)
    since, sent = timezone.now(), solo.send(9000)
    rollback = Rollback(game=solo.mode.game, mode=solo.mode, since=since, until=timezone.now() + timedelta(days=1))
    ruling = Ruling(kind="rollback", game=solo.mode.game, mode=solo.mode, reason="speed", rollback=rollback)
    ruling_make(ruling=ruling, by=HOUSE, now=timezone.now())
    rollbacks_run(now=timezone.now())
    drain(solo.mode)
    ruling_undo(ruling=ruling, by=HOUSE, now=timezone.now(), why="a mistake")
    rollbacks_run(now=timezone.now())
    drain(solo.mode)
    assert solo.board() == [("p-1", 50)]
    assert (solo.attempt(sent)["state"], Case.objects.get().state) == ("quarantined", "open")
    released = Ruling(kind="release", game=solo.mode.game, mode=solo.mode, player=Player.objects.get(), reason="fair")
    ruling_make(ruling=released, by=HOUSE, now=timezone.now(), attempts=[UUID(sent["attempt_id"])])
    drain(solo.mode)
    assert solo.board() == [("p-1", 9000)]


def test_what_people_rejected_before_it_was_judged_is_not_judged(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    solo.played(50)
    sent = solo.send(9000)
    ruling = Ruling(kind="reject", game=solo.mode.game, mode=solo.mode, player=Player.objects.get(), reason="speed")
    ruling_make(ruling=ruling, by=HOUSE, now=timezone.now(), attempts=[UUID(sent["attempt_id"])])
    drain(solo.mode)
    assert solo.attempt(sent)["reasons"] == ["speed"]
    assert not Case.objects.exists()


def test_a_check_that_breaks_stops_nothing_if_it_only_flags(arena: Callable[..., Arena], settings: Settings) -> None:
    settings.STAMP_CHECKS = [f"{__name__}.Broken"]
    solo = arena()
    solo.played(500)
    assert solo.board() == [("p-1", 500)]
    settings.STAMP_CHECKS = [f"{__name__}.BrokenAndStrict"]
    sent = solo.played(600)
    assert solo.board() == [("p-1", 500)]
    assert solo.attempt(sent)["reasons"] == ["A check could not be made; someone will look at it."]
    assert not Case.objects.exists(), "nothing is known against the player"


def broken_recorder(found: Sequence[Found]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


def test_findings_that_cannot_be_kept_take_no_score_down(
    arena: Callable[..., Arena], settings: Settings, by_score: None
) -> None:
    settings.FINDINGS_RECORDER = f"{__name__}.broken_recorder"
    solo = arena()
    solo.batch(("p-1", 507), ("p-2", 508))
    drain(solo.mode)
    assert solo.board() == [("p-1", 507)]
    assert solo.states("p-2") == {508: "quarantined"}


class Died(BaseException):
    """As if the process had been killed."""


def test_a_drainer_that_dies_while_judging_leaves_all_as_it_was(
    arena: Callable[..., Arena], monkeypatch: pytest.MonkeyPatch
) -> None:
    solo = arena(checks=STEP)
    solo.played(500)
    solo.send(9000)

    def die(found: Sequence[Found]) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(judging.verdicts, "record", die)
        with pytest.raises(Died):
            drain(solo.mode)
    assert solo.states() == {500: "accepted", 9000: "accepted"}
    assert not Case.objects.exists()
    drain(solo.mode)
    assert solo.states() == {500: "accepted", 9000: "quarantined"}
    assert Finding.objects.count() == 1


def test_a_total_beyond_its_range_is_a_case(arena: Callable[..., Arena]) -> None:
    solo = arena(aggregation="sum", max_score=60, max_total=100)
    solo.batch(("p-1", 60), ("p-1", 60), ("p-1", 40), ("p-2", 5))
    drain(solo.mode)
    assert solo.board() == [("p-1", 100), ("p-2", 5)]
    assert [(one.check_name, one.verdict) for one in Finding.objects.all()] == [("range", "quarantine")]


def test_a_player_who_suddenly_does_wonders_is_flagged(arena: Callable[..., Arena]) -> None:
    solo = arena()
    for score in (100, 104, 96, 101, 99, 103):
        solo.played(score)
    solo.played(400)
    assert solo.board() == [("p-1", 400)]
    found = Finding.objects.get()
    assert (found.check_name, found.verdict, found.details["attempts"]) == ("outlier", "flag", 6)


@pytest.mark.parametrize("shards", [1, 3])
def test_what_is_absurd_beside_all_others_waits(arena: Callable[..., Arena], settings: Settings, shards: int) -> None:
    settings.SHARDS = shards
    solo = arena()
    solo.batch(*[(f"p-{n}", 1000 + n) for n in range(1200)])
    drain(solo.mode)
    cohorts.forget()
    solo.played(99_000, "cheat")
    solo.played(2_900, "good")
    assert [player for player, _ in solo.board()[:2]] == ["good", "p-1199"]
    assert {(one.case.player.player_id, one.verdict) for one in Finding.objects.all()} == {
        ("cheat", "quarantine"),
        ("good", "flag"),
    }


@pytest.mark.parametrize("shards", [1, 3])
def test_who_would_enter_the_top_waits_for_a_look(arena: Callable[..., Arena], settings: Settings, shards: int) -> None:
    settings.SHARDS = shards
    solo = arena()
    solo.batch(*[(f"p-{n}", 100 + n) for n in range(10)])
    drain(solo.mode)
    Mode.objects.update(checks={"top": {"k": 3}})
    solo.played(107, "as-good-as-the-third")
    solo.played(108, "third")
    assert solo.states("third") == {108: "quarantined"}
    assert solo.states("as-good-as-the-third") == {107: "accepted"}


def test_history_is_what_counted_before_and_no_more_than_fifty(arena: Callable[..., Arena]) -> None:
    solo = arena(checks=STEP)
    for first in range(0, 60, 20):
        solo.batch(*[("p-1", 100 + first + n) for n in range(20)])
        drain(solo.mode)
    solo.played(9000)
    sent = solo.send(190)
    player, received = Player.objects.get().pk, solo.attempt(sent)["received_at"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT (extract(epoch FROM %s::timestamptz) * 1000000)::bigint", [received])
        at = cursor.fetchone()[0]
    look = LogHistory(solo.mode, solo.mode.created_at)
    past = look.past([Improvement(player, 0, 190, at, at, 159, 190)])[player]
    scores = {one.score for one in past}
    assert len(past) == len(scores) == 50
    assert {*range(120, 160)} < scores < {*range(100, 160)}, "the newest, none that is held back, and not itself"
