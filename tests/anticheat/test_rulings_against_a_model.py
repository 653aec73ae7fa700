"""Scores, findings, rulings, ends of bans and their undoing, in any order: at rest every board equals a model, and who
is shadow banned sees the one in which it alone is not.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import time_machine
from django.conf import settings as django_settings
from django.test import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from anticheat.models import Case, Finding, Rollback, Ruling
from anticheat.services.rollbacks import rollbacks_run
from anticheat.services.rulings import ruling_make, ruling_undo
from config import valkey
from config.audit import HOUSE
from leaderboards.admission import Door
from leaderboards.candidates import Candidate
from leaderboards.models import Mode, Outbox
from leaderboards.services.corrections import bans_follow
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.verdicts import Verdict, Weight
from leaderboards.wire_scores import Submission
from players.access import Caller
from players.access import Kind as Callers
from players.errors import PlayerBanned
from players.models import Player
from tests.client import ApiClient
from tests.factories import make_game, make_mode, make_player, make_token, record_of
from tests.leaderboards.board_model import Attempt, ranked
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
Kind = Ruling.Kind
PLAYERS = 5
FLAGGED, HELD = 8, 9  # scores that the check below finds
WHO, NUMBERS = st.integers(0, PLAYERS - 1), st.integers(0, 1000)
OFF = [Kind.BAN, Kind.SUSPEND, Kind.SHADOW, Kind.HIDE]


class Nines:
    """Flags eights, and quarantines nines."""

    def judge(self, batch: list[Candidate], door: Door) -> dict[int, Verdict]:
        weights = {FLAGGED: Weight.FLAG, HELD: Weight.QUARANTINE}
        return {
            n: Verdict("nines", weights[one.score], "suspicious", risk=0.5)
            for n, one in enumerate(batch)
            if one.score in weights
        }


@dataclass
class Judged:
    """An attempt as the model knows it: what it was at first, what is ruled of it, which rollbacks cover it."""

    attempt: Attempt
    first: str = "accepted"
    ruled: dict[int, str] = field(default_factory=dict)  # by ruling in force, in their order
    covered: set[int] = field(default_factory=set)
    found: bool = False

    @property
    def base(self) -> str:
        return [self.first, *self.ruled.values()][-1]


@dataclass
class Off:
    player: int
    kind: str
    ends: datetime | None


class Trust(RuleBasedStateMachine):
    aggregation = "best"

    @initialize(
        ranking=st.sampled_from(["unique", "competition", "dense"]),
        order=st.sampled_from(["desc", "asc"]),
        shards=st.sampled_from([1, 3]),
        first=st.lists(st.tuples(WHO, st.integers(0, 9)), min_size=4, max_size=10),
    )
    def begin(self, ranking: str, order: str, shards: int, first: list[tuple[int, int]]) -> None:
        for url in (
            django_settings.VALKEY_URL,
            django_settings.CACHE_URL,
        ):  # where the clock of the walk before is kept
            valkey.client(url).flushdb()
        total = {"max_total": 1000} if self.aggregation == "sum" else {}
        game = make_game()
        made = make_mode(
            game, aggregation=self.aggregation, ranking=ranking, order=order, min_score=0, max_score=9, **total
        )
        Mode.objects.filter(pk=made.pk).update(shards=1 if ranking == "dense" else shards)
        self.mode = Mode.objects.select_related("game").get(pk=made.pk)
        self.players = [make_player(game).pk for _ in range(PLAYERS)]
        self.names = dict(Player.objects.filter(game=game).values_list("pk", "player_id"))
        self.api, self.since = ApiClient(), timezone.now()
        self.told: dict[UUID, Judged] = {}
        self.off: dict[int, Off] = {}  # by ruling
        self.done: list[Ruling] = []
        self.clock = time_machine.travel(timezone.now(), tick=True)
        self.hours = self.clock.start()
        for who, score in first:
            self.submit(who, score)

    @rule(who=WHO, score=st.integers(0, 9))
    def submit(self, who: int, score: int) -> None:
        player, attempt_id, now = self.players[who], uuid4(), timezone.now()
        sent = Submission(player_id=self.names[player], score=score, achieved_at=now, attempt_id=attempt_id)
        (outcome,) = scores_submit(
            game=record_of(self.mode.game),
            caller=Caller(Callers.KEY, game=self.mode.game.slug),
            items=[Item(Mode.objects.select_related("game").get(pk=self.mode.pk), sent)],
        )
        if {Kind.BAN, Kind.SUSPEND} & self._kinds(player):
            assert isinstance(outcome, PlayerBanned)
            return
        assert isinstance(outcome, Outcome)
        one = Attempt(player, score, now, "", outcome.logged.id)
        base = "quarantined" if score == HELD else "accepted"
        self.told[attempt_id] = Judged(one, base, found=score in (FLAGGED, HELD))

    @precondition(lambda self: self.told)
    @rule(kind=st.sampled_from([Kind.RELEASE, Kind.REJECT]), number=NUMBERS)
    def judge_one(self, kind: str, number: int) -> None:
        attempt_id = list(self.told)[number % min(3, len(self.told))]  # of few, so that they are judged again and again
        self._judge(kind, {attempt_id}, player=self.told[attempt_id].attempt.player, attempts=[attempt_id])

    @precondition(lambda self: any(one.found for one in self.told.values()))
    @rule(kind=st.sampled_from([Kind.RELEASE, Kind.CONFIRM]), number=NUMBERS)
    def judge_a_case(self, kind: str, number: int) -> None:
        suspects = sorted({one.attempt.player for one in self.told.values() if one.found})
        player = suspects[number % len(suspects)]
        case = Case.objects.get(mode=self.mode, player_id=player)
        of_case = {key for key, one in self.told.items() if one.found and one.attempt.player == player}
        assert set(Finding.objects.filter(case=case).values_list("attempt_id", flat=True)) == of_case
        otherwise = "rejected" if kind == Kind.RELEASE else "accepted"
        open_yet = {key for key in of_case if otherwise not in self.told[key].ruled.values()}
        self._judge(kind, open_yet, player=player, case=case)

    @rule(kind=st.sampled_from(OFF), who=WHO, hours=st.sampled_from([None, 1, 3]), everywhere=st.booleans())
    def ban(self, kind: str, who: int, hours: int | None, everywhere: bool) -> None:
        player, now = self.players[who], timezone.now()
        ends = (
            now + timedelta(hours=hours or (1 if kind == Kind.SUSPEND else 0))
            if hours or kind == Kind.SUSPEND
            else None
        )
        ruling = self._rule(kind, player=player, mode=None if everywhere else self.mode, ends_at=ends)
        self.off[ruling.pk] = Off(player, kind, ends)
        self.done.append(ruling)

    @rule(hours=st.integers(1, 2))
    def time_passes(self, hours: int) -> None:
        """Bans end by themselves."""
        self.hours.shift(timedelta(hours=hours))
        bans_follow(now=timezone.now())

    @precondition(lambda self: self.told)
    @rule(who=st.sampled_from([None, None, 0, 1]), one=st.sampled_from([None, None, 0, 1]))
    def roll_back(self, who: int | None, one: int | None) -> None:
        player = None if who is None else self.players[who]
        own = [key for key, known in self.told.items() if player in (None, known.attempt.player)]
        asked = None if one is None or player is None or not own else own[one % len(own)]
        ends = timezone.now() + timedelta(days=1)
        selection = Rollback(
            game=self.mode.game, mode=self.mode, player_id=player, attempt_id=asked, since=self.since, until=ends
        )
        ruling = self._rule(Kind.ROLLBACK, player=player, rollback=selection)
        rollbacks_run(now=timezone.now())
        for key in [asked] if asked else own:
            self.told[key].covered.add(ruling.pk)
        self.done.append(ruling)

    @precondition(lambda self: self.done)
    @rule(number=NUMBERS)
    def undo(self, number: int) -> None:
        ruling = self.done.pop(number % len(self.done))
        ruling_undo(ruling=ruling, by=HOUSE, now=timezone.now(), why="a mistake")
        rollbacks_run(now=timezone.now())
        for one in self.told.values():
            one.covered.discard(ruling.pk)
            one.ruled.pop(ruling.pk, None)
        self.off.pop(ruling.pk, None)

    @rule()
    def work(self) -> None:
        drain(self.mode, now=timezone.now())

    @rule()
    def come_to_rest(self) -> None:
        bans_follow(now=timezone.now())
        drain(self.mode, now=timezone.now())
        assert not Outbox.objects.filter(mode=self.mode).exists()
        self._compare(viewer=None)
        for player in self.players:
            self._compare(viewer=player)

    def teardown(self) -> None:
        if hasattr(self, "clock"):
            try:
                self.come_to_rest()
            finally:
                self.clock.stop()

    def _compare(self, viewer: int | None) -> None:
        """The list, and where the viewer stands, as anybody sees it, or with the viewer's own token."""
        hidden = {player for player in self.players if self._kinds(player)}
        if viewer is not None and self._kinds(viewer) == {Kind.SHADOW}:
            hidden.discard(viewer)
        counting = [
            one.attempt
            for one in self.told.values()
            if one.base == "accepted" and not one.covered and one.attempt.player not in hidden
        ]
        expected = [(rank, self.names[player], score) for rank, player, score in ranked(self.mode, counting)]
        board = f"/v1/games/{self.mode.game.slug}/modes/{self.mode.slug}/leaderboards/alltime"
        token = "" if viewer is None else make_token(self.mode.game, str(self.names[viewer]))
        listed = self.api.get(board, credential=token).json()
        assert [(one["rank"], one["player_id"], one["score"]) for one in listed["entries"]] == expected
        assert listed["total"] == len(expected)
        if viewer is not None:
            own = self.api.get(f"{board}/me", credential=token).json()
            where = [one for one in expected if one[1] == self.names[viewer]]
            assert (own["rank"], own["player_id"], own["score"]) == (where or [(None, self.names[viewer], None)])[0]

    def _kinds(self, player: int) -> set[str]:
        """How the player is off the boards now."""
        now = timezone.now()
        return {one.kind for one in self.off.values() if one.player == player and (one.ends is None or now < one.ends)}

    def _judge(self, kind: str, about: set[UUID], **fields: Any) -> None:
        """The last ruling in force about an attempt says what it is."""
        ruling = self._rule(kind, mode=self.mode, **fields)
        for key in about:
            self.told[key].ruled[ruling.pk] = "accepted" if kind == Kind.RELEASE else "rejected"
        self.done.append(ruling)

    def _rule(self, kind: str, *, player: int | None, attempts: Any = (), **fields: Any) -> Ruling:
        fields.setdefault("mode", self.mode)
        ruling = Ruling(kind=kind, game=self.mode.game, player_id=player, reason="speed", **fields)
        return ruling_make(ruling=ruling, by=HOUSE, now=timezone.now(), attempts=attempts)


@pytest.mark.parametrize("aggregation", ["best", "sum", "latest"])
@override_settings(SCORE_CHECKS=[f"{__name__}.Nines"])
def test_boards_and_own_views_equal_the_model(aggregation: str) -> None:
    few = settings(
        max_examples=8,
        stateful_step_count=25,
        phases=[Phase.generate],  # as in test_state_machine.py
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(type("Trust", (Trust,), {"aggregation": aggregation}), settings=few)
