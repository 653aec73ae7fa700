"""From submission to board, against a model of a few lines."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings

from config import valkey
from leaderboards import outbox
from leaderboards.boards import store
from leaderboards.boards.store import Slot
from leaderboards.models import Mode, Outbox
from leaderboards.rules.windows import window_at
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Player
from tests.factories import make_game, make_mode, record_of
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)


def submit(mode: Mode, player: str, score: int, at: datetime, attempt: int) -> Outcome:
    sent = Submission(player_id=player, score=score, achieved_at=at, attempt_id=UUID(int=attempt))
    caller = Caller(Kind.KEY, game=mode.game.slug)
    (outcome,) = scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, sent)])
    assert isinstance(outcome, Outcome), outcome
    return outcome


def board(mode: Mode, window: str, scope: str = "global") -> list[tuple[int, int]]:
    slots = [Slot(mode.pk, shard, mode.generation) for shard in range(mode.shards)]
    found = [
        entry for answer in store.read("range", slots, window, scope, 0, -1) for entry in store.entries(answer.rest[0])
    ]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))


@pytest.mark.parametrize("aggregation", ["best", "sum", "latest"])
@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("tie_break", ["earliest", "latest", "none"])
@pytest.mark.parametrize("shards", [1, 4])
def test_boards_equal_the_model(aggregation: str, order: str, tie_break: str, shards: int) -> None:
    start = datetime.now(UTC) - timedelta(minutes=2)
    game = make_game()
    total = {"max_total": 100_000} if aggregation == "sum" else {}
    mode = make_mode(
        game, aggregation=aggregation, order=order, tie_break=tie_break, min_score=0, max_score=100, **total
    )
    Mode.objects.filter(pk=mode.pk).update(shards=shards, created_at=start - timedelta(days=30))
    mode.refresh_from_db()
    told: list[tuple[str, int, datetime]] = []
    for number in range(60):
        player, score, at = f"p-{number * 7 % 11}", number * 37 % 5, start + timedelta(seconds=number * 53 % 40)
        assert not submit(mode, player, score, at, number).duplicate
        if number % 5 == 0:
            assert submit(mode, player, score, at, number).duplicate
        told.append((player, score, at))
        if number % 9 == 0:
            drain(mode)
    drain(mode)
    assert not Outbox.objects.exists()
    month = window_at("monthly", start, ZoneInfo("UTC"))

    def compare() -> None:
        for window, before in (("alltime", datetime.now(UTC)), (month.id, month.ends_at or start)):
            counted = [one for one in told if one[2] < before]  # a month may end while it is played
            assert [pk for pk, _ in board(mode, window)] == _model(aggregation, order, tie_break, counted)

    compare()
    valkey.client(settings.VALKEY_URL).flushdb()  # this worker's own
    submit(mode, "p-0", 1, start, 1000)
    told.append(("p-0", 1, start))
    drain(mode)
    compare()


def _model(aggregation: str, order: str, tie_break: str, told: list[tuple[str, int, datetime]]) -> list[int]:
    sign = 1 if order == "desc" else -1
    prefer = {"earliest": -1, "latest": 1, "none": 0}[tie_break]
    pks = dict(Player.objects.values_list("player_id", "pk"))
    entries = []
    for player in {name for name, _, _ in told}:
        own = [(score, at.timestamp()) for name, score, at in told if name == player]
        if aggregation == "best":
            score, at = max(own, key=lambda one: (sign * one[0], prefer * one[1]))
        elif aggregation == "sum":
            score, at = sum(one[0] for one in own), max(one[1] for one in own)
        else:
            index = max(range(len(own)), key=lambda n: (own[n][1], n))
            score, at = own[index]
        entries.append((-sign * score, -prefer * at, pks[player]))
    return [pk for _, _, pk in sorted(entries)]


def test_the_first_score_of_a_mode_has_all_its_shards_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board is read from all of them: one that nobody made yet would be a 503 until a reader rang for it."""
    mode = make_mode(make_game())
    Mode.objects.filter(pk=mode.pk).update(shards=4)
    mode.refresh_from_db()
    rung: list[tuple[int, int]] = []
    monkeypatch.setattr(outbox, "ring", rung.extend)
    submit(mode, "p-1", 5, datetime.now(UTC), 1)
    assert sorted(rung) == [(mode.pk, shard) for shard in range(4)]
    mode.refresh_from_db()
    rung.clear()
    submit(mode, "p-1", 6, datetime.now(UTC), 2)
    assert len(rung) == 1
