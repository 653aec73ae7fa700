"""What is found is in a case: one for each player and mode, each finding once."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from anticheat.models import Case, Finding
from anticheat.services.findings import MOST, findings_record
from leaderboards.models import Mode
from leaderboards.verdicts import Found, Verdict, Weight
from players.models import Player
from tests.factories import make_game, make_mode, make_player
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db
AT = datetime(2026, 4, 5, 9, tzinfo=UTC)


@pytest.fixture
def mode() -> Mode:
    return make_mode(make_game("arena"))


@pytest.fixture
def player(mode: Mode) -> Player:
    return make_player(mode.game, "p-1")


def found(mode: Mode, player: Player, attempt: int, check: str = "jump", **verdict: Any) -> Found:
    said = Verdict(check, **{"weight": Weight.FLAG, "reason": 'A "step"; too far.', "risk": 0.5, **verdict})
    return Found(mode, player.pk, attempt, UUID(int=attempt), AT, 100 + attempt, said)


def test_one_case_gathers_all_that_is_found_of_a_player_in_a_mode(mode: Mode, player: Player) -> None:
    other = make_player(mode.game, "p-2")
    elsewhere = make_mode(mode.game, "duel")
    findings_record(
        [
            found(mode, player, 1, details={"by": 5}, weight=Weight.QUARANTINE),
            found(mode, player, 1, "outlier"),
            found(mode, player, 2),
            found(mode, other, 3),
            found(elsewhere, player, 4),
        ]
    )
    assert Case.objects.count() == 3
    case = Case.objects.get(mode=mode, player=player)
    assert (case.game, case.state, case.findings.count()) == (mode.game, Case.State.OPEN, 3)
    assert case.risk == pytest.approx(1 - 0.5**3)
    kept = case.findings.get(attempt=1, check_name="jump")
    assert (kept.attempt_id, kept.received_at, kept.score) == (UUID(int=1), AT, 101)
    assert (kept.verdict, kept.reason, kept.details) == ("quarantine", 'A "step"; too far.', {"by": 5})


def test_what_is_found_again_changes_nothing(mode: Mode, player: Player) -> None:
    findings_record([found(mode, player, 1)])
    Case.objects.update(state=Case.State.CLEARED)
    before = Case.objects.values().get()
    findings_record([found(mode, player, 1, risk=0.9)])
    assert Case.objects.values().get() == before, "what was cleared stays so"
    assert Finding.objects.count() == 1


@pytest.mark.parametrize(
    ("was", "is_now", "risk"),
    [("cleared", "open", 0.5), ("confirmed", "open", 0.75), ("watching", "open", 0.75), ("open", "open", 0.75)],
)
def test_what_is_new_opens_a_closed_case_again(mode: Mode, player: Player, was: str, is_now: str, risk: float) -> None:
    findings_record([found(mode, player, 1)])
    Case.objects.update(state=was)
    findings_record([found(mode, player, 2)])
    case = Case.objects.get()
    assert (case.state, case.risk) == (is_now, pytest.approx(risk)), "what was cleared weighs no more"
    assert case.findings.count() == 2


def test_a_better_rank_goes_first(mode: Mode) -> None:
    """Nobody is on the boards yet, so that whoever is found would be the first."""
    high, low = make_player(mode.game), make_player(mode.game)
    findings_record([found(mode, high, 1), found(mode, low, 2)])
    case = Case.objects.get(player=high)
    assert (case.rank, case.priority) == (1, pytest.approx(0.5))
    Case.objects.filter(player=low).update(rank=1000)
    findings_record([found(mode, low, 3, risk=0.1)])
    assert Case.objects.get(player=low).rank == 1, "the better one stays"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("weight", "rank"), [(Weight.QUARANTINE, 2), (Weight.FLAG, 3)])
def test_where_scores_add_up_the_rank_is_that_of_the_total(weight: Weight, rank: int) -> None:
    """What waits is not in the total yet, what is only flagged is."""
    mode = make_mode(make_game("arena"), aggregation="sum", min_score=0, max_score=1000, max_total=10**6)
    for number, (player, score) in enumerate([("p-1", 1000), ("p-2", 900), ("p-3", 800), ("nova", 790)], start=1):
        submit(mode, player, score, datetime.now(UTC), number)
    sent = submit(mode, "nova", 60, datetime.now(UTC), 5)
    drain(mode)
    mode.refresh_from_db()
    nova = Player.objects.get(player_id="nova")
    said = Verdict("jump", weight=weight, reason="A step.", risk=0.5)
    findings_record([Found(mode, nova.pk, sent.logged.id, UUID(int=5), AT, 60, said)])
    assert Case.objects.get().rank == rank


def test_a_case_takes_so_many_findings_and_the_heaviest_first(mode: Mode, player: Player) -> None:
    many = [found(mode, player, attempt) for attempt in range(1, MOST + 50)]
    findings_record([*many, found(mode, player, 9999, weight=Weight.QUARANTINE)])
    assert Finding.objects.count() == MOST
    assert Finding.objects.filter(attempt=9999).exists()
    findings_record([found(mode, player, 10_000, risk=0.6)])
    assert Finding.objects.count() == MOST
    assert Finding.objects.filter(attempt__in=[9999, 10_000]).count() == 2, "the lightest make room"


def test_a_full_case_still_opens_again_and_keeps_what_comes_then(mode: Mode, player: Player) -> None:
    findings_record([found(mode, player, attempt, risk=0.9) for attempt in range(1, MOST + 51)])
    Case.objects.update(state=Case.State.CLEARED)
    findings_record([found(mode, player, 9999, risk=0.1)])
    case = Case.objects.get()
    assert (case.state, case.risk) == ("open", pytest.approx(0.1))
    assert case.findings.filter(attempt=9999).exists()
    findings_record([found(mode, player, attempt, risk=0.9) for attempt in range(20_000, 20_000 + 2 * MOST)])
    assert case.findings.count() == 2 * MOST, "so many each time that it opens"


def test_what_a_full_open_case_does_not_keep_still_tells_of_a_better_rank(mode: Mode, player: Player) -> None:
    findings_record([found(mode, player, attempt) for attempt in range(1, MOST + 1)])
    Case.objects.update(rank=1000, priority=0.1)
    findings_record([found(mode, player, 9999, risk=0.1)])
    case = Case.objects.get()
    assert (case.rank, case.findings.filter(attempt=9999).exists()) == (1, False)
    assert case.priority > 0.9


def test_a_thousand_findings_are_as_few_statements_as_one(mode: Mode) -> None:
    players = [make_player(mode.game) for _ in range(20)]
    with CaptureQueriesContext(connection) as asked:
        findings_record([found(mode, players[n % 20], n) for n in range(1000)])
    assert len(asked) <= 5
    assert Case.objects.count() == 20


def test_a_finding_may_say_anything_at_all(mode: Mode, player: Player) -> None:
    strange = 'quote " backslash \\ brace {} comma , NULL'
    findings_record([found(mode, player, 1, "c" * 40, reason=strange * 20, details={strange: [strange, None, 1.5]})])
    kept = Finding.objects.get()
    assert kept.reason == (strange * 20)[:500]
    assert kept.details == {strange: [strange, None, 1.5]}
    assert len(kept.check_name) == 32


def test_findings_of_one_attempt_have_one_id(mode: Mode, player: Player) -> None:
    one = found(mode, player, 1)
    assert one.attempt_id != uuid4()
    findings_record([one, one])
    assert Finding.objects.count() == 1
