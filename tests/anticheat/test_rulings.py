"""What an operator rules reaches every board, and undoing it brings everything back."""

import json
import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from anticheat.checks.replay import WAITS
from anticheat.errors import RulingRefused
from anticheat.models import AuditEntry, Case, Finding, Rollback, Ruling
from anticheat.services import rollbacks
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.rulings import ruling_approve, ruling_make, ruling_undo
from config.audit import HOUSE, Who
from leaderboards import log, outbox, ranking
from leaderboards.boards.board import board_named
from leaderboards.keys import Lock
from leaderboards.models import Mode
from leaderboards.rules.instants import micros
from players.models import Player
from tests.anticheat.suspects import add_finding, make_case
from tests.factories import make_game, make_mode
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

pytestmark = pytest.mark.django_db(transaction=True)
Kind = Ruling.Kind


@pytest.fixture
def solo() -> Mode:
    """Nova 10 and 50, Comet 20, Vega 30."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    for number, (player, score) in enumerate([("nova", 10), ("comet", 20), ("vega", 30), ("nova", 50)], start=1):
        submit(mode, player, score, datetime.now(UTC), number)
    drain(mode)
    mode.refresh_from_db()
    return mode


def _top(mode: Mode, window: str = "alltime") -> list[tuple[str, int]]:
    drain(mode)
    board = board_named(mode=mode, window=window, scope="global", at=datetime.now(UTC))
    names = dict(Player.objects.values_list("pk", "player_id"))
    return [(str(names[one.player]), one.score) for one in ranking.page(board, offset=0, limit=10).entries]


def _nova() -> Player:
    return Player.objects.get(player_id="nova")


def _rule(mode: Mode, kind: str, **fields: object) -> Ruling:
    attempts = fields.pop("attempts", ())
    ruling = Ruling(kind=kind, game=mode.game, mode=mode, player=_nova(), **{"reason": "speed", **fields})
    return ruling_make(ruling=ruling, by=HOUSE, now=datetime.now(UTC), attempts=attempts)  # type: ignore[arg-type]


def _undo(ruling: Ruling) -> None:
    ruling_undo(ruling=ruling, by=HOUSE, now=datetime.now(UTC), why="a mistake")


ALL = [("nova", 50), ("vega", 30), ("comet", 20)]
BEFORE = [("vega", 30), ("comet", 20), ("nova", 10)]
WITHOUT = [("vega", 30), ("comet", 20)]


@pytest.mark.parametrize("window", ["daily", "weekly", "monthly", "alltime"])
def test_a_disqualified_score_makes_room_for_the_one_before_it(solo: Mode, window: str) -> None:
    assert _top(solo, window) == ALL
    ruling = _rule(solo, Kind.REJECT, attempts=[UUID(int=4)])
    assert _top(solo, window) == BEFORE
    _undo(ruling)
    assert _top(solo, window) == ALL


@pytest.mark.parametrize("kind", [Kind.BAN, Kind.HIDE, Kind.SHADOW])
def test_a_ban_of_any_kind_closes_the_ranks_and_undone_opens_them(solo: Mode, kind: str) -> None:
    ruling = _rule(solo, kind)
    assert _top(solo) == WITHOUT
    _undo(ruling)
    assert _top(solo) == ALL


def _rollback(mode: Mode, **fields: object) -> Rollback:
    now = datetime.now(UTC)
    return Rollback(game=mode.game, **{"mode": mode, "since": now - timedelta(days=1), "until": now, **fields})


def test_a_players_attempts_are_taken_back_and_given_back(solo: Mode) -> None:
    ruling = _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo, player=_nova()))
    assert rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == WITHOUT
    assert Rollback.objects.get().state == Rollback.State.DONE
    _undo(ruling)
    rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == ALL
    assert Rollback.objects.get().state == Rollback.State.UNDONE


def test_what_two_rollbacks_cover_counts_again_when_both_are_undone(solo: Mode) -> None:
    first = _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo, player=_nova()))
    second = _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo))
    rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == []
    _undo(second)
    rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == WITHOUT
    _undo(first)
    rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == ALL


def _log_slowly(mode: Mode, player: int, begun: threading.Event, done: threading.Event) -> None:
    """A score that has arrived, and is committed when somebody waits for it, or nobody did."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            arrival = log.enter()
            row = log.Attempt(mode.pk, player, UUID(int=5), score=60, achieved_at=arrival.at, windows=0b1111)
            (id_,) = log.append([row], arrival=arrival).values()
            arrived = micros(arrival.at)
            pending = outbox.ScoreRow(player, 60, arrived, id_, 0b1111)
            outbox.add_scores(mode.pk, mode.shards, [pending], arrived=arrived)
            begun.set()
            ends = monotonic() + 60
            while not done.wait(0.02) and monotonic() < ends:
                cursor.execute(
                    "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE NOT granted"
                    " AND locktype = 'advisory' AND classid = %s AND datname = current_database())",
                    [Lock.DAY],
                )
                if cursor.fetchone()[0]:
                    break
    finally:
        connection.close()


def test_a_rollback_takes_back_what_is_being_committed_while_it_runs(solo: Mode) -> None:
    begun, done = threading.Event(), threading.Event()
    writer = threading.Thread(target=_log_slowly, args=(solo, _nova().pk, begun, done))
    writer.start()
    try:
        assert begun.wait(timeout=60)
        _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo, player=_nova(), until=datetime.now(UTC)))
        ends = monotonic() + 60
        while Rollback.objects.get().state != Rollback.State.DONE and monotonic() < ends:
            rollbacks_run(now=datetime.now(UTC))
    finally:
        done.set()
        writer.join()
    assert Rollback.objects.get().done == 3
    assert _top(solo) == WITHOUT


def test_a_rollback_goes_no_further_than_the_boards_can_follow(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollbacks, "_STEP", 1)
    monkeypatch.setattr(rollbacks, "_AHEAD", 1)
    _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo))
    rollbacks_run(now=datetime.now(UTC))
    one = Rollback.objects.get()
    assert (one.state, one.done) == (Rollback.State.RUNNING, 2)
    assert rollbacks_run(now=datetime.now(UTC)) == 0
    drain(solo)
    rollbacks_run(now=datetime.now(UTC))
    drain(solo)
    rollbacks_run(now=datetime.now(UTC))
    one.refresh_from_db()
    assert (one.state, one.done) == (Rollback.State.DONE, 4)
    assert _top(solo) == []


def test_a_rollback_that_fails_holds_up_no_other(solo: Mode, caplog: pytest.LogCaptureFixture) -> None:
    broken = _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo))
    _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo, player=_nova()))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE anticheat_rollback SET since = '0001-01-01 BC' WHERE id = %s", [broken.rollback_id])
    with caplog.at_level("ERROR"):
        rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == WITHOUT
    assert [line for line in caplog.messages if "rollback_failed" in line and str(broken.rollback_id) in line]


def test_what_is_released_while_a_rollback_covers_it_counts_when_that_is_undone(solo: Mode) -> None:
    rejected = _rule(solo, Kind.REJECT, attempts=[UUID(int=4)])
    taken = _rule(solo, Kind.ROLLBACK, rollback=_rollback(solo, player=_nova()))
    rollbacks_run(now=datetime.now(UTC))
    _undo(rejected)
    assert _top(solo) == WITHOUT
    _undo(taken)
    rollbacks_run(now=datetime.now(UTC))
    assert _top(solo) == ALL


def test_a_case_confirmed_is_a_case_whose_attempts_count_nowhere(solo: Mode) -> None:
    found = log.find([(_nova().pk, UUID(int=4))], since=datetime.now(UTC) - timedelta(days=1))
    case = Case.objects.create(game=solo.game, mode=solo, player=_nova())
    attempt = next(iter(found.values()))
    received = datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT received_at FROM score_attempts WHERE id = %s", [attempt.id])
        received = cursor.fetchone()[0]
    Finding.objects.create(
        case=case,
        attempt=attempt.id,
        attempt_id=UUID(int=4),
        received_at=received,
        score=50,
        check_name="outlier",
        verdict="flag",
        risk=0.5,
        reason="five times its usual",
    )
    ruling = _rule(solo, Kind.CONFIRM, case=case)
    case.refresh_from_db()
    assert (case.state, _top(solo)) == (Case.State.CONFIRMED, BEFORE)
    _undo(ruling)
    case.refresh_from_db()
    assert (case.state, _top(solo)) == (Case.State.OPEN, ALL)


def test_where_two_persons_are_asked_for_one_alone_does_nothing(solo: Mode, settings: object) -> None:
    settings.TWO_PERSONS = ["ban"]  # type: ignore[attr-defined]
    first, second = (User.objects.create(username=name) for name in ("first", "second"))
    ruling = Ruling(kind=Kind.BAN, game=solo.game, player=_nova(), reason="speed")
    made = ruling_make(ruling=ruling, by=Who("operator", user=first.pk), now=datetime.now(UTC))
    assert (made.state, _top(solo)) == (Ruling.State.PROPOSED, ALL)
    with pytest.raises(RulingRefused):
        ruling_approve(ruling=made, by=Who("operator", user=first.pk), now=datetime.now(UTC))
    ruling_approve(ruling=made, by=Who("operator", user=second.pk), now=datetime.now(UTC))
    assert _top(solo) == WITHOUT


def test_a_suspension_that_would_have_ended_is_not_approved_any_more(solo: Mode, settings: object) -> None:
    settings.TWO_PERSONS = ["suspend"]  # type: ignore[attr-defined]
    first, second = (User.objects.create(username=name) for name in ("first", "second"))
    now = datetime.now(UTC)
    ruling = Ruling(kind=Kind.SUSPEND, game=solo.game, player=_nova(), reason="speed", ends_at=now + timedelta(hours=1))
    made = ruling_make(ruling=ruling, by=Who("operator", user=first.pk), now=now)
    with pytest.raises(RulingRefused):
        ruling_approve(ruling=made, by=Who("operator", user=second.pk), now=now + timedelta(hours=1))
    made.refresh_from_db()
    assert (made.state, made.approved_by) == (Ruling.State.PROPOSED, None)


def test_what_is_ruled_and_undone_is_in_the_audit(solo: Mode) -> None:
    ruling = _rule(solo, Kind.BAN)
    _undo(ruling)
    told = AuditEntry.objects.filter(about=f"anticheat.ruling:{ruling.pk}").order_by("seq")
    assert [(one.verb, one.player, one.why) for one in told] == [
        ("ruling.make", _nova().pk, "speed"),
        ("ruling.undo", _nova().pk, "a mistake"),
    ]


def test_undone_in_any_order_a_score_counts_as_if_nothing_had_been_ruled(solo: Mode) -> None:
    rejected = _rule(solo, Kind.REJECT, attempts=[UUID(int=4)])
    released = _rule(solo, Kind.RELEASE, attempts=[UUID(int=4)])
    again = _rule(solo, Kind.REJECT, attempts=[UUID(int=4)])
    for ruling, expected in ((rejected, BEFORE), (released, BEFORE), (again, ALL)):
        _undo(ruling)
        assert _top(solo) == expected


def test_undone_in_any_order_a_case_is_open_again(solo: Mode) -> None:
    case = Case.objects.create(game=solo.game, mode=solo, player=_nova())
    rulings = [_rule(solo, kind, case=case) for kind in (Kind.CLEAR, Kind.WATCH, Kind.CLEAR)]
    for ruling, expected in zip((rulings[1], rulings[0], rulings[2]), ("cleared", "cleared", "open"), strict=True):
        _undo(ruling)
        case.refresh_from_db()
        assert case.state == expected


def _quarantine(number: int, *reasons: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts SET state = %s, reasons = %s WHERE player_id = %s AND attempt_id = %s",
            [log.State.QUARANTINED, json.dumps(reasons), _nova().pk, UUID(int=number)],
        )


def test_a_case_released_frees_all_that_is_quarantined_in_its_mode_and_not_what_waits_for_its_replay(
    solo: Mode,
) -> None:
    """However many its findings were: not all are kept."""
    for number, score in ((5, 60), (6, 70)):
        submit(solo, "nova", score, datetime.now(UTC), number)
    assert _top(solo)[0] == ("nova", 70)
    case = Case.objects.create(game=solo.game, mode=solo, player=_nova())
    _quarantine(5, "Somebody looks at it.")
    _quarantine(6, WAITS)
    elsewhere = make_mode(solo.game, "duel")
    submit(elsewhere, "nova", 80, datetime.now(UTC), 7)
    _quarantine(7, "Somebody looks at it.")
    ruling = _rule(solo, Kind.RELEASE, case=case)
    assert [after[3] for after in ruling.before["attempts"]] == [log.State.QUARANTINED]
    assert _top(solo)[0] == ("nova", 60)
    _undo(ruling)
    assert _top(solo) == [("nova", 50), *ALL[1:]]
    by_id = _rule(solo, Kind.RELEASE, attempts=[UUID(int=6)])
    assert _top(solo)[0] == ("nova", 70), "a person may"
    _undo(by_id)
    _rule(solo, Kind.CONFIRM, case=case)
    _rule(solo, Kind.RELEASE, attempts=[UUID(int=6)])
    assert _top(solo)[0] == ("nova", 70), "what only waits for its replay was not confirmed either"


@pytest.mark.parametrize(
    ("first", "then", "left"), [(Kind.CONFIRM, Kind.RELEASE, BEFORE[2]), (Kind.RELEASE, Kind.CONFIRM, ALL[0])]
)
def test_a_case_that_opens_again_leaves_alone_what_was_decided_otherwise_before(
    solo: Mode, first: str, then: str, left: tuple[str, int]
) -> None:
    case = make_case(solo, attempts=[4])
    _quarantine(4, "Somebody looks at it.")
    before = _rule(solo, first, case=case)
    assert left in _top(solo)
    submit(solo, "nova", 5, datetime.now(UTC), 5)
    add_finding(case, 5)
    ruling = _rule(solo, then, case=case)
    assert [row[1] for row in ruling.before["attempts"]] == [Finding.objects.get(attempt_id=UUID(int=5)).attempt]
    assert left in _top(solo)
    _undo(before)
    _quarantine(4, "Somebody looks at it.")
    _rule(solo, then, case=case)
    assert left not in _top(solo), "what is undone decides nothing"


def test_a_score_that_is_named_is_judged_whatever_was_decided_before(solo: Mode) -> None:
    case = make_case(solo, attempts=[4])
    for kind, asked, expected in (
        (Kind.CONFIRM, [], BEFORE),
        (Kind.RELEASE, [], BEFORE),
        (Kind.RELEASE, [UUID(int=4)], ALL),
        (Kind.REJECT, [], ALL),
        (Kind.REJECT, [UUID(int=4)], BEFORE),
    ):
        _rule(solo, kind, case=case, attempts=asked)
        assert _top(solo) == expected


def _reasons(number: int) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reasons FROM score_attempts WHERE attempt_id = %s", [UUID(int=number)])
        return json.loads(cursor.fetchone()[0] or "[]")  # type: ignore[no-any-return]


def test_a_disqualification_undone_takes_its_reason_along(solo: Mode) -> None:
    _quarantine(4, "Somebody looks at it.", "speed")
    _undo(_rule(solo, Kind.REJECT, attempts=[UUID(int=4)]))
    assert _reasons(4) == ["Somebody looks at it.", "speed"], "what a check said stays"
    _undo(_rule(solo, Kind.REJECT, attempts=[UUID(int=1)]))
    assert _reasons(1) == []


def test_what_waits_for_its_replay_goes_on_waiting_after_a_disqualification_undone(solo: Mode) -> None:
    _quarantine(4, WAITS)
    _undo(_rule(solo, Kind.REJECT, attempts=[UUID(int=4)]))
    ruling = _rule(solo, Kind.RELEASE, case=make_case(solo, attempts=[]))
    assert (_reasons(4), ruling.before["attempts"]) == ([WAITS], [])


def test_who_is_disqualified_twice_is_told_by_what_is_in_force(solo: Mode) -> None:
    first, same, other = (
        _rule(solo, Kind.REJECT, attempts=[UUID(int=4)], reason=reason) for reason in ("speed", "speed", "a bot")
    )
    assert _reasons(4) == ["speed"]
    _undo(same)
    assert _reasons(4) == ["speed"]
    _undo(first)
    assert _reasons(4) == ["a bot"]
    released = _rule(solo, Kind.RELEASE, attempts=[UUID(int=4)])
    _undo(other)
    _undo(released)
    assert (_reasons(4), _top(solo)) == ([], ALL)
