"""What just happened is noticed as an obvious definition says, kept short, and shown only while it is so."""

import time
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
import time_machine
from django.conf import settings as house
from django.utils import timezone
from pytest_django import Settings

from config import recall, valkey
from config.wire import Exact
from leaderboards import happenings, keys, noticing
from leaderboards.activity import activity_recent
from leaderboards.boards.store import Change
from leaderboards.happenings import Happened
from leaderboards.models import Mode
from leaderboards.rules.happenings import TOP, Position
from leaderboards.services.corrections import attempt_take_back
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Game, Player
from players.scopes import Scope
from players.services import player_edit, player_erase
from tests.client import ApiClient, told
from tests.cluster import wait
from tests.factories import make_game, make_key, make_mode, record_of
from tests.leaderboards.spine import drain
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
Told = tuple[str, str, str]  # kind, player_id, window


@pytest.fixture(autouse=True)
def _everything_counts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SCORE_CHECKS, settings.STAMP_CHECKS = [], []
    monkeypatch.setattr(noticing, "BEST_EVERY", 0.0)


class Field:
    """A mode, its clock, and beside it what its boards should show, in plain Python."""

    def __init__(self, *, shards: int = 1, **rules: object) -> None:
        self.now, self.sign = midday(), -1 if rules.get("order") == "asc" else 1
        self.mode = make_mode(make_game(), min_score=0, max_score=1000, **rules)
        Mode.objects.filter(pk=self.mode.pk).update(shards=shards, created_at=self.now - timedelta(days=60))
        self.scores: list[tuple[str, int, datetime]] = []
        self.gone: set[str] = set()

    def play(self, plays: list[tuple[str, int]], **fields: UUID) -> None:
        self.mode = Mode.objects.select_related("game").get(pk=self.mode.pk)
        sent = [
            Submission(player_id=player, score=Exact(score), attempt_id=fields.get("attempt", uuid4()))
            for player, score in plays
        ]
        caller = Caller(Kind.KEY, game=self.mode.game.slug, scopes=frozenset(Scope))
        with time_machine.travel(self.now, tick=False):
            scores_submit(game=record_of(self.mode.game), caller=caller, items=[Item(self.mode, one) for one in sent])
        if not self.scores:  # which has PostgreSQL's clock
            Mode.objects.filter(pk=self.mode.pk).update(first_score_at=self.now)
        self.scores += [(player, score, self.now) for player, score in plays]

    def look(self, best: Position | None = None) -> list[Happened]:
        with time_machine.travel(self.now, tick=False):
            drain(self.mode, now=self.now)
            self.mode = Mode.objects.select_related("game").get(pk=self.mode.pk)
            return noticing.mode_look(mode=self.mode, best=best, now=self.now)

    def told(self, found: list[Happened]) -> list[Told]:
        names = dict(Player.objects.values_list("pk", "player_id"))
        return [(one.kind.value, names[one.player], one.window.partition(":")[0]) for one in found]

    def board(self, window: str) -> dict[str, int]:
        """Best first; equals by when they had it, those of one moment by who registered first."""
        alive = [one for one in self.scores if one[0] not in self.gone and (window == "alltime" or self._today(one[2]))]
        best: dict[str, tuple[int, datetime, int]] = {}
        pks = dict(Player.objects.filter(game=self.mode.game).values_list("player_id", "pk"))
        for player, score, at in alive:
            best[player] = min(best.get(player, (10**9, at, 0)), (-self.sign * score, at, pks[player]))
        return {player: best[player][0] for player in sorted(best, key=lambda one: best[one])}

    def _today(self, at: datetime) -> bool:
        return at.date() == self.now.date()

    def recent(self, most: int = 50) -> list[Told]:
        self.mode = Mode.objects.select_related("game").get(pk=self.mode.pk)
        return [(one.kind, one.player_id, one.window) for one in activity_recent(self.mode, most=most)]


def _obvious(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> set[Told]:
    """Who leads and did not, else who is among the first ten and was not, else who of them is better than before."""
    found: dict[str, Told] = {}
    for window in ("alltime", "daily"):
        was, head = before[window], list(after[window])[:TOP]
        for player in head:
            if player == head[0] and player != next(iter(was), None):
                found[player] = max(found.get(player, ("", "", "")), ("new_leader", player, window), key=_weight)
            elif player not in list(was)[:TOP]:
                found[player] = max(found.get(player, ("", "", "")), ("entered_top", player, window), key=_weight)
            elif window == "alltime" and after[window][player] < was[player]:
                found[player] = max(found.get(player, ("", "", "")), ("new_best", player, window), key=_weight)
    return set(found.values())


def _weight(one: Told) -> int:
    return ["", "new_best", "entered_top", "new_leader"].index(one[0])


@pytest.mark.parametrize(
    ("shards", "ranking", "order"), [(1, "unique", "desc"), (4, "unique", "asc"), (4, "competition", "desc")]
)
def test_what_is_noticed_is_what_tells_two_moments_apart(shards: int, ranking: str, order: str) -> None:
    chance = Random(f"{shards}{ranking}")  # noqa: S311 - the same each time
    field = Field(shards=shards, ranking=ranking, order=order, windows=("daily", "alltime"))
    before: dict[str, dict[str, int]] = {"alltime": {}, "daily": {}}
    for step in range(14):
        field.now += timedelta(hours=2)  # over midnight once, and noon of the next day
        if not any(field._today(at) for _, _, at in field.scores):  # noqa: SLF001
            before["daily"] = {}
        field.play(
            [(f"p-{chance.randint(1, 25)}", chance.randint(0, 40 + 9 * step)) for _ in range(chance.randint(1, 9))]
        )
        found = field.told(field.look())
        after = {window: field.board(window) for window in before}
        expected = _obvious(before, after)
        bests = {one for one in expected if one[0] == "new_best"}
        assert {one for one in found if one[0] != "new_best"} == expected - bests
        assert [one for one in found if one[0] == "new_best"] == sorted(
            bests, key=lambda one: list(after["alltime"]).index(one[1])
        )[:1]
        gone = chance.choice(list(after["alltime"])[:12])
        player = Player.objects.get(game=field.mode.game, player_id=gone)
        Ban.objects.create(player=player, reason="cheated", starts_at=field.now)
        field.gone.add(gone)
        assert field.look() == [], "who moves up because another leaves has done nothing"
        before = {window: field.board(window) for window in before}


def test_a_best_beyond_the_first_ten_is_told_where_it_is_notable_but_not_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = Field()
    field.play([(f"p-{n}", 1000 - n) for n in range(120)])
    field.look()
    pks = dict(Player.objects.values_list("player_id", "pk"))
    monkeypatch.setattr(noticing, "BEST_EVERY", 5.0)
    told = []
    for seconds, player, score in ((1, 60, 960), (2, 70, 970), (9, 119, 890), (10, 118, 905)):
        field.now += timedelta(seconds=seconds)
        field.play([(f"p-{player}", score)])
        told += field.told(field.look((score, pks[f"p-{player}"])))
    assert told == [("new_best", "p-60", "alltime"), ("new_best", "p-118", "alltime")], "119 is not notable"
    assert field.recent(2) == told[::-1]


def test_the_batchs_best_costs_a_look_at_one_board_of_it() -> None:
    mode = make_mode(make_game())
    daily, region = (
        Change("daily:2026-11-18", "global", 0, [(99, 1)], []),
        Change("alltime", "region:eu", 0, [(98, 1)], []),
    )
    both = [Change("alltime", "global", 0, [(3, 1), (7, 2), (5, 3)], []), Change("alltime", "global", 0, [], [4])]
    assert noticing._best(mode, [daily, region, *both]) == (7, 2)  # noqa: SLF001
    assert noticing._best(mode, [daily, region]) is None  # noqa: SLF001
    assert noticing._best(make_mode(mode.game, "sum", aggregation="sum"), both) is None  # noqa: SLF001


def test_a_worker_notices_by_itself_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, looked = list[float](), noticing.mode_look

    def counted(**asked: Any) -> list[Happened]:
        looks.append(time.monotonic())
        return looked(**asked)

    monkeypatch.setattr(noticing, "mode_look", counted)
    monkeypatch.setattr(noticing, "_noticer", None)
    field = Field(windows=("alltime",))
    field.now = timezone.now()  # as the worker's: of a mode that is older, the first look tells nothing
    field.play([("p-1", 1)])
    drain(field.mode)
    assert looks == [], "this is no worker"
    noticing.note_meanwhile()
    for number in range(2, 20):
        field.play([(f"p-{number}", number)])
        drain(field.mode)
    wait(lambda: ("new_leader", "p-19", "alltime") in field.recent())
    assert all(later - earlier > noticing.EVERY / 2 for earlier, later in pairwise(looks))
    valkey.client(house.CACHE_URL).set(keys.happened(field.mode.pk), "not a list")
    many = len(looks)
    field.play([("p-20", 20)])
    drain(field.mode)
    wait(lambda: len(looks) > many)
    valkey.client(house.CACHE_URL).delete(keys.happened(field.mode.pk))
    field.play([("p-21", 21)])
    drain(field.mode)
    wait(lambda: ("new_leader", "p-21", "alltime") in field.recent())


def test_after_the_cache_was_lost_nobody_is_called_new() -> None:
    field = Field()
    field.play([("p-1", 5), ("p-2", 7)])
    assert field.told(field.look()) == [("entered_top", "p-1", "alltime"), ("new_leader", "p-2", "alltime")]
    field.now += timedelta(hours=1)
    valkey.client(house.CACHE_URL).flushdb()
    field.play([("p-2", 8)])
    assert field.look() == []
    field.now += timedelta(hours=1)
    field.play([("p-1", 9)])
    assert field.told(field.look()) == [("new_leader", "p-1", "alltime")]


def test_fifty_are_kept_for_a_week() -> None:
    field = Field(windows=("alltime",))
    for number in range(60):
        field.play([(f"p-{number % 2}", number)])
        field.look()
    assert field.recent() == [("new_leader", f"p-{number % 2}", "alltime") for number in range(59, 9, -1)]
    assert 0 < valkey.client(house.CACHE_URL).ttl(keys.happened(field.mode.pk)) <= 7 * 24 * 3600


def test_who_is_on_no_board_and_what_counts_no_more_is_not_told() -> None:
    field = Field(windows=("alltime",))
    cheated = uuid4()
    for number, player in enumerate(["erased", "banned", "shadow", "hidden", "rolled-back", "good"]):
        field.play([(player, number)], attempt=cheated if player == "rolled-back" else uuid4())
        field.look()
    assert [player for _, player, _ in field.recent()] == "good rolled-back hidden shadow banned erased".split()
    players = {player.player_id: player for player in Player.objects.filter(game=field.mode.game)}
    for kind in (Ban.Kind.BAN, Ban.Kind.SHADOW, Ban.Kind.HIDDEN):
        name = "banned" if kind is Ban.Kind.BAN else kind.value
        Ban.objects.create(player=players[name], kind=kind, reason="cheated")
        assert name not in str(field.recent()), "before the boards know of it"
    player_erase(game=record_of(field.mode.game), player_id="erased", at=field.now)
    assert [player for _, player, _ in field.recent()] == ["good", "rolled-back"]
    attempt_take_back(mode=field.mode, player=players["rolled-back"].pk, attempt_id=cheated)
    drain(field.mode)
    recall.forget()  # a second has passed
    assert [player for _, player, _ in field.recent()] == ["good"]
    player_edit(player=players["good"], fields={"display_name": "Nova", "country": "DE"})
    recall.forget()
    (shown,) = activity_recent(field.mode, most=50)
    assert (shown.display_name, shown.country, shown.score, shown.rank) == ("Nova", "DE", 5, 1)
    assert b"good" not in b"".join(valkey.cache_pushed(keys.happened(field.mode.pk))), "numbers only"


def test_it_is_read_like_a_board(api: ApiClient) -> None:
    field = Field(decimals=1)
    field.play([("p-1", 5)])
    field.look()
    slug = field.mode.game.slug
    path = f"/v1/games/{slug}/modes/solo/activity"
    answer = api.get(path)
    assert answer.json()["activity"] == [
        {"kind": "new_leader", "player_id": "p-1", "display_name": "p-1", "country": None, "avatar_url": None,
         "score": 5.0, "rank": 1, "window": "alltime", "window_id": "alltime", "at": field.now.isoformat()[:19] + "Z"}
    ]  # fmt: skip
    assert answer.headers["cache-control"] == "public, max-age=1, stale-while-revalidate=1"
    assert api.get(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert api.get(path, credential=make_key(field.mode.game)).headers["cache-control"] == "private"
    assert told(api.get(f"{path}?limit=51")) == (400, "invalid_request")
    assert told(api.get(f"/v1/games/{slug}/modes/none/activity")) == (404, "mode_not_found")
    Game.objects.filter(slug=slug).update(public=False)
    recall.forget()
    assert told(api.get(path)) == (401, "unauthenticated")


def test_a_feed_without_its_cache_is_empty(settings: Settings) -> None:
    field = Field()
    field.play([("p-1", 5)])
    assert field.look()
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    assert field.recent() == []
    with pytest.raises(valkey.ValkeyUnavailable):
        happenings.recent(field.mode)
