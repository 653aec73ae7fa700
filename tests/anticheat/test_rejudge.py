"""The log judged anew: the planted are found, twice is once, a dry run writes nothing, later is not known earlier."""

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from anticheat import walk
from anticheat.evaluation.evaluating import checks_evaluate, season_mode
from anticheat.evaluation.loading import BEGINS, ENDS, season_load
from anticheat.judge import Judge
from anticheat.models import Case, Finding
from anticheat.season.season import SEED, labels
from anticheat.services import rejudging
from anticheat.services.rejudging import mode_rejudge
from leaderboards import partitions
from leaderboards.log import State
from leaderboards.models import Mode
from leaderboards.verdicts import Found, Weight
from tests.anticheat.test_habits import attempt

pytestmark = pytest.mark.django_db
PLAYERS = 500


class Season:
    def __init__(self) -> None:
        self.mode = season_mode()
        self.loaded = season_load(mode=self.mode, seed=SEED, players=PLAYERS)
        kinds = labels(SEED, PLAYERS)
        self.cheaters = {kinds[number]: pk for pk, number in self.loaded.players.items() if number in kinds}

    def checks_of(self, kind: str) -> set[str]:
        found = Finding.objects.filter(case__mode=self.mode, case__player=self.cheaters[kind])
        return set(found.values_list("check_name", flat=True))


@pytest.fixture
def season() -> Season:
    return Season()


def test_planted_cheaters_have_cases_and_no_score_is_changed(season: Season) -> None:
    mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS)
    assert "regularity" in season.checks_of("bot")
    assert "timing" in season.checks_of("edit")
    assert "timing" in season.checks_of("speed")
    assert not Finding.objects.exclude(verdict=Finding.Verdict.FLAG).exists(), "nothing was held back by it"
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT state FROM score_attempts WHERE mode_id = %s", [season.mode.pk])
        assert cursor.fetchall() == [(State.ACCEPTED,)]
    assert Case.objects.count() < PLAYERS / 8


def test_judging_twice_finds_the_same_and_writes_nothing_more(season: Season) -> None:
    first = mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS)
    before = _written()
    second = mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS)
    assert first.findings == second.findings > 0
    assert sum(said.new for said in first.said.values()) == first.findings
    assert sum(said.new for said in second.said.values()) == 0
    assert _written() == before


def test_a_dry_run_says_the_same_and_writes_nothing(season: Season) -> None:
    out = StringIO()
    game = season.mode.game.slug
    call_command("rejudge", "--mode=run", f"--game={game}", "--since=2026-10-01", "--dry-run", stdout=out)
    assert not Case.objects.exists()
    assert "Nothing was written." in out.getvalue()
    call_command("rejudge", "--mode=run", f"--game={game}", "--since=2026-10-01T00:00:00+00:00", stdout=out)
    dry, _, wet = out.getvalue().partition("Nothing was written.\n")
    assert wet.splitlines()[:-1] == dry.splitlines()[:-1]
    assert Case.objects.exists()


def test_what_came_later_changes_nothing_of_what_is_said_of_earlier(season: Season) -> None:
    middle = BEGINS + timedelta(days=12)
    early = {_key(one) for one in _judged(season.mode, Judge(season.mode, since=BEGINS, until=ENDS), middle)}
    whole = list(_judged(season.mode, Judge(season.mode, since=BEGINS, until=ENDS), ENDS))
    asked = {_key(one) for one in _judged(season.mode, Judge(season.mode, since=BEGINS, until=middle), ENDS)}
    assert early == asked == {_key(one) for one in whole if one.received_at < middle}
    assert 0 < len(early) < len(whole)


def test_the_log_is_walked_in_order_of_arrival(season: Season) -> None:
    days = partitions.days_between(BEGINS, ENDS)
    seen = [one for day in days for some in walk.attempts(season.mode, day, part=0, parts=1) for one in some]
    assert len(seen) == season.loaded.attempts
    assert seen == sorted(seen, key=lambda one: (one.received_at, one.id))


def test_what_is_asked_of_some_days_is_told_with_the_days_before(season: Season) -> None:
    """What needs a past is not said without: who had none on those days is not strange on them."""
    since, until = BEGINS + timedelta(days=20), BEGINS + timedelta(days=25, hours=1)
    mode_rejudge(mode=season.mode, since=since, until=until)
    with_past = set(Finding.objects.values_list("attempt", "check_name"))
    assert not Finding.objects.exclude(received_at__gte=since, received_at__lt=until).exists()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM score_attempts WHERE received_at < %s", [since])
    Finding.objects.all().delete()
    mode_rejudge(mode=season.mode, since=since, until=until)
    without = set(Finding.objects.values_list("attempt", "check_name"))
    assert with_past - without


def test_what_would_have_been_held_back_is_told_at_once_and_is_not_known_after() -> None:
    mode = Mode(pk=1, slug="solo", checks={"jump": {"max": 100}})
    judge = Judge(mode, since=BEGINS, until=ENDS)
    assert list(judge.judged([attempt(0, 1000)])) == []
    far = list(judge.judged([attempt(100, 9000)]))
    assert [one.verdict.check for one in far] == ["jump"]
    assert (far[0].verdict.weight, far[0].verdict.details["today"]) == (Weight.FLAG, "quarantine")
    assert [one.verdict.check for one in judge.judged([attempt(200, 1200)])] == ["jump"], "200 better than 1000"


def test_of_what_is_rejected_or_taken_back_nothing_more_is_said(season: Season) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts SET state = %s WHERE player_id = ANY(%s)",
            [State.REJECTED, [season.cheaters["bot"], season.cheaters["edit"]]],
        )
        cursor.execute(
            "UPDATE score_attempts SET state = %s WHERE player_id = %s", [State.TAKEN_BACK, season.cheaters["speed"]]
        )
    mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS)
    assert [season.checks_of(kind) for kind in ("bot", "edit", "speed")] == [set(), set(), set()]


def test_players_in_parts_are_found_as_all_at_once(season: Season, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a player alone is the same; only the cohort is then that of the part."""
    alone = {"timing", "tempo", "regularity", "sleepless", "devices", "handover"}
    whole = mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS, dry_run=True)
    monkeypatch.setattr(rejudging, "PLAYERS_AT_ONCE", 150)
    parts = mode_rejudge(mode=season.mode, since=BEGINS, until=ENDS, dry_run=True)
    assert parts.attempts == whole.attempts == season.loaded.attempts
    assert {name: parts.said[name].players for name in alone & parts.said.keys()} == {
        name: whole.said[name].players for name in alone & whole.said.keys()
    }


def test_a_mode_that_is_not_there_is_said(season: Season) -> None:
    with pytest.raises(CommandError, match="There is no such mode"):
        call_command("rejudge", "--mode=nowhere", "--since=2026-10-01")
    with pytest.raises(CommandError, match="not after"):
        call_command("rejudge", "--mode=run", "--since=2026-10-02", "--until=2026-10-01")


@pytest.mark.slow
def test_on_a_season_of_three_thousand_the_checks_are_as_good_as_they_were() -> None:
    """Below what docs/anticheat.md says of a hundred thousand: thirty cheaters are few."""
    scores = checks_evaluate(seed=SEED, players=3000).scores
    assert scores.everything.precision >= 0.75
    assert scores.everything.recall >= 0.8
    caught = {name: one.right for name, one in scores.checks.items()}
    assert caught["cohort"] >= 4
    assert caught["timing"] >= 12
    assert caught["tempo"] >= 6
    assert caught["handover"] >= 2
    assert min(caught["regularity"], caught["sleepless"]) >= 5


def _judged(mode: Mode, judge: Judge, until: object) -> Iterator[Found]:
    for day in partitions.days_between(BEGINS, ENDS):
        for seen in walk.attempts(mode, day, part=0, parts=1):
            yield from judge.judged([one for one in seen if one.received_at < until])  # type: ignore[operator]


def _key(one: Found) -> tuple[int, str, float, str]:
    return one.attempt, one.verdict.check, one.verdict.risk, one.verdict.reason


def _written() -> list[object]:
    return [*Case.objects.order_by("pk").values(), *Finding.objects.order_by("pk").values()]
