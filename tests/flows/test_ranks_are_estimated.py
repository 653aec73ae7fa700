"""Ranks told without a rank query: in the answer to a score, as a preview, and how all scores are spread."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from config import recall
from leaderboards import histograms as holding
from leaderboards.boards import published
from leaderboards.boards.board import board_named
from leaderboards.boards.histogram import Made
from leaderboards.errors import BoardsUnavailable
from leaderboards.models import Mode
from leaderboards.rules.histogram import histogram_of_tally
from leaderboards.services.rebuilding import mode_rebuild
from players.models import Ban, Player
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
BOARD = f"{SOLO}/leaderboards/alltime"


@pytest.fixture(autouse=True)
def _nothing_is_held_longer_than_it_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small boards' histograms; as for a caller who comes a tenth of a second later."""
    monkeypatch.setattr(holding, "MOMENT", 0.0)


class Arena:
    def __init__(self, api: ApiClient, shards: int = 1, **rules: Any) -> None:
        self.api, self.mode = api, make_mode(make_game("arena"), **{"min_score": 0, "max_score": 1000, **rules})
        Mode.objects.update(shards=shards)
        self.mode.refresh_from_db()
        self.key = make_key(self.mode.game)

    def send(self, player: str, score: object, *, query: str = "", **fields: Any) -> Any:
        body = {"player_id": player, "score": score, **fields}
        answer = self.api("POST", f"{SOLO}/scores{query}", credential=self.key, json=body)
        assert answer.status_code in (200, 202), answer.text
        drain(self.mode)
        return answer.json()

    def fill(self, *scores: object) -> None:
        items = [{"mode": "solo", "player_id": f"p-{n}", "score": score} for n, score in enumerate(scores, 1)]
        answer = self.api("POST", "/v1/games/arena/scores", credential=self.key, json={"scores": items})
        assert answer.json()["accepted"] == len(scores)
        drain(self.mode)

    def preview(self, score: object, *, window: str = "alltime", scope: str = "global") -> tuple[int, int]:
        answer = self.api.get(f"{SOLO}/leaderboards/{window}/preview?score={score}&scope={scope}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["estimate"] is True
        assert answer.json()["score"] == score
        return answer.json()["rank"], answer.json()["total"]

    def distribution(self, query: str = "") -> list[tuple[Any, Any, int]]:
        answer = self.api.get(f"{BOARD}/distribution{query}").json()
        found = [(bucket["from"], bucket["to"], bucket["count"]) for bucket in answer["buckets"]]
        assert answer["estimate"] is True
        assert sum(count for _, _, count in found) == answer["total"]
        return found


def _ranks(answer: Any) -> tuple[Any, ...]:
    assert answer["estimate"] is True
    return answer["rank_before"], answer["rank_after"], answer["delta"], answer["total"]


@pytest.mark.parametrize("shards", [1, 4])
def test_a_score_is_answered_with_the_ranks_it_moves_between(api: ApiClient, shards: int) -> None:
    arena = Arena(api, shards)
    assert _ranks(arena.send("p-1", 500)) == (None, 1, None, 1), "the first of all"
    arena.fill(500, 400, 300, 200)
    assert _ranks(arena.send("new", 350)) == (None, 3, None, 5)
    assert _ranks(arena.send("new", 450)) == (3, 2, 1, 5)
    assert _ranks(arena.send("new", 100)) == (2, 2, 0, 5), "not improved"
    assert _ranks(arena.send("new", 450)) == (2, 2, 0, 5), "the same once more"
    assert _ranks(arena.send("new", 1000)) == (2, 1, 1, 5)


def test_where_less_is_better_a_lesser_score_climbs(api: ApiClient) -> None:
    arena = Arena(api, order="asc", decimals=2)
    arena.fill("1.50", "2.50", "3.50")
    assert _ranks(arena.send("new", "3.00")) == (None, 3, None, 4)
    assert _ranks(arena.send("new", "1.00")) == (3, 1, 2, 4)
    assert _ranks(arena.send("new", "9.99")) == (1, 1, 0, 4)


def test_a_sum_is_ranked_by_its_total_and_the_latest_by_itself(api: ApiClient) -> None:
    arena = Arena(api, aggregation="sum", max_total=10_000)
    arena.fill(500, 400, 300)
    assert _ranks(arena.send("p-3", 150)) == (3, 2, 1, 3)
    assert _ranks(arena.send("p-3", 0)) == (2, 2, 0, 3)


def test_who_falls_is_told_where_it_stands_then(api: ApiClient) -> None:
    arena = Arena(api, aggregation="latest")
    arena.fill(500, 400, 300)
    assert _ranks(arena.send("p-1", 350)) == (2, 2, 0, 3), "of the three, one is better"
    assert _ranks(arena.send("p-1", 450)) == (2, 1, 1, 3)


CASES = [
    ("best", "desc", "competition", 1),
    ("best", "asc", "competition", 4),
    ("sum", "desc", "competition", 4),
    ("latest", "desc", "competition", 1),
    ("latest", "asc", "competition", 4),
    ("best", "desc", "dense", 1),
    ("sum", "asc", "dense", 1),
]


@pytest.mark.parametrize(("aggregation", "order", "ranking", "shards"), CASES)
def test_on_a_board_at_rest_the_estimate_is_the_rank(
    api: ApiClient, *, aggregation: str, order: str, ranking: str, shards: int
) -> None:
    arena = Arena(api, shards, aggregation=aggregation, order=order, ranking=ranking)
    chance = Random(3)  # noqa: S311 - the same one each time
    for _ in range(40):
        player = f"p-{chance.randrange(12)}"
        sent = arena.send(player, chance.randrange(12))
        rank_before, rank_after, delta, total = _ranks(sent)
        own = api.get(f"{BOARD}/players/{player}").json()
        assert (rank_after, total) == (own["rank"], own["total"]), sent
        assert rank_before == (rank_after if sent["improved"] is False else rank_before)
        assert delta == (None if rank_before is None else rank_before - rank_after)
        assert (rank_before is None) == (sent["previous_best"] is None)
        assert sent["improved"] is False or delta is None or delta >= 0


def test_a_duplicate_is_answered_with_the_rank_as_now(api: ApiClient) -> None:
    arena, attempt = Arena(api), str(uuid4())
    arena.fill(500, 400)
    assert _ranks(arena.send("new", 450, attempt_id=attempt)) == (None, 2, None, 3)
    arena.send("p-2", 600)
    again = arena.send("new", 450, attempt_id=attempt)
    assert again["duplicate"]
    assert _ranks(again) == (3, 3, 0, 3)


def test_a_duplicate_adds_nothing_to_a_sum(api: ApiClient) -> None:
    arena, attempt = Arena(api, aggregation="sum", max_total=10_000), str(uuid4())
    arena.fill(500, 400)
    body = {"player_id": "new", "score": 300, "attempt_id": attempt}
    assert _ranks(api("POST", f"{SOLO}/scores", credential=arena.key, json=body).json()) == (None, 3, None, 3)
    early = api("POST", f"{SOLO}/scores", credential=arena.key, json=body).json()
    assert _ranks(early) == (None, None, None, 2), "the boards do not show it yet"
    drain(arena.mode)
    assert _ranks(arena.send("new", 300, attempt_id=attempt)) == (3, 3, 0, 3)


def test_the_ranks_are_those_of_the_window_that_was_asked_for(api: ApiClient) -> None:
    arena = Arena(api, grace_seconds=3 * 24 * 3600)
    early = (timezone.now() - timedelta(days=2)).isoformat()
    arena.send("p-1", 900, achieved_at=early)
    assert _ranks(arena.send("p-2", 500, query="?window=daily")) == (None, 1, None, 1)
    assert _ranks(arena.send("p-3", 400)) == (None, 3, None, 3)
    late = arena.send("p-4", 1000, query="?window=daily", achieved_at=early)
    assert _ranks(late) == (None, None, None, 2), "it does not count in today's"
    known = arena.send("p-2", 1000, query="?window=daily", achieved_at=early)
    assert _ranks(known) == (1, 1, 0, 2), "nor does it move anybody there"


def test_boards_that_do_not_answer_have_no_ranks_to_tell(api: ApiClient, settings: Any) -> None:
    arena = Arena(api)
    arena.fill(500, 400)
    arena.preview(1)
    settings.VALKEY_URL = "redis://127.0.0.1:1/0"
    answer = api("POST", f"{SOLO}/scores", credential=arena.key, json={"player_id": "p-2", "score": 450})
    assert answer.status_code == 202
    assert _ranks(answer.json()) == (None, None, None, None)
    assert told(api.get(f"{BOARD}/preview?score=1")) == (503, "unavailable")


def test_boards_that_fail_after_the_commit_take_no_score_back(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(api)
    arena.fill(500, 400)

    def lost(*_: Any) -> None:
        raise BoardsUnavailable

    monkeypatch.setattr(holding, "histogram_make", lost)
    answer = api("POST", f"{SOLO}/scores", credential=arena.key, json={"player_id": "p-2", "score": 450})
    assert answer.status_code == 202
    assert _ranks(answer.json()) == (None, None, None, None)
    assert (answer.json()["previous_best"], answer.json()["improved"]) == (400, True), "that was seen before"


def test_a_cache_that_does_not_answer_takes_no_rank_away(api: ApiClient, settings: Any) -> None:
    arena = Arena(api)
    settings.CACHE_URL = "redis://127.0.0.1:1/0"
    arena.fill(500, 400)
    assert _ranks(arena.send("new", 450)) == (None, 2, None, 3)
    assert arena.preview(401) == (3, 3)


@pytest.mark.parametrize("shards", [1, 4])
def test_a_preview_is_the_rank_that_a_score_would_have(api: ApiClient, shards: int) -> None:
    arena = Arena(api, shards, ranking="competition")
    assert arena.preview(7) == (1, 0), "of an empty board"
    arena.fill(500, 400, 400, 300)
    assert [arena.preview(score) for score in (501, 500, 400, 399, 0)] == [(1, 4), (1, 4), (2, 4), (4, 4), (5, 4)]
    arena.send("p-4", 600)
    assert arena.preview(500) == (2, 4), "seen once the board shows it"


def test_a_preview_is_of_a_scope_and_a_window(api: ApiClient) -> None:
    arena = Arena(api)
    api.put("/v1/games/arena/players/p-1", credential=arena.key, json={"country": "DE"})
    arena.fill(500, 400)
    assert arena.preview(450, scope="country:DE") == (2, 1)
    assert arena.preview(450, scope="country:FR") == (1, 0)
    assert arena.preview(450, window="daily") == (2, 2)
    yesterday = f"daily:{(timezone.now() - timedelta(days=1)).date()}"
    assert arena.preview(450, window=yesterday) == (1, 0)


def test_scores_come_back_in_the_modes_decimals(api: ApiClient) -> None:
    arena = Arena(api, decimals=3, order="asc")
    arena.fill("1.250", "2")
    assert b'"score":1.300' in api.get(f"{BOARD}/preview?score=1.3").content
    assert b'"from":1.250' in api.get(f"{BOARD}/distribution").content
    assert arena.preview(1.3) == (2, 2)
    assert arena.distribution() == [(1.25, 1.25, 1), (2, 2, 1)]


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("shards", [1, 4])
def test_a_distribution_has_everyone_once_least_scores_first(api: ApiClient, order: str, shards: int) -> None:
    arena = Arena(api, shards, order=order)
    assert arena.distribution() == []
    scores = [Random(n).randrange(1000) for n in range(300)]  # noqa: S311 - the same ones each time
    arena.fill(*scores)
    for most in (1, 7, 50, 1000):
        found = arena.distribution(f"?buckets={most}")
        assert len(found) <= most
        assert [count for _, _, count in found] == [sum(low <= one <= high for one in scores) for low, high, _ in found]
        assert found == sorted(found)
        assert (found[0][0], found[-1][1]) == (min(scores), max(scores))
    assert len(arena.distribution()) == 50


def test_scores_that_many_share_are_buckets_of_their_own(api: ApiClient) -> None:
    arena = Arena(api)
    arena.fill(*([100] * 20 + [200] * 5 + [1000]))
    assert arena.distribution() == [(100, 100, 20), (200, 200, 5), (1000, 1000, 1)]


def test_who_may_read_the_board_may_read_what_is_estimated_of_it(api: ApiClient) -> None:
    arena = Arena(api)
    arena.fill(500)
    for path in (f"{BOARD}/preview?score=1", f"{BOARD}/distribution"):
        public = api.get(path)
        assert public.headers["Cache-Control"] == "public, max-age=1, stale-while-revalidate=1"
        known = api.get(path, headers={"If-None-Match": public.headers["ETag"]})
        assert (known.status_code, known.content) == (304, b"")
        assert api.get(path, credential=arena.key).headers["Cache-Control"] == "private"
        type(arena.mode.game).objects.update(public=False)
        recall.forget()
        assert told(api.get(path)) == (401, "unauthenticated")
        assert api.get(path, credential=make_token(arena.mode.game, "p-1")).headers["Cache-Control"] == "private"
        assert told(api.get(path, credential=make_key(make_game()))) == (404, "game_not_found")
        type(arena.mode.game).objects.update(public=True)
        recall.forget()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("alltime/preview", (400, "invalid_request")),
        ("alltime/preview?score=x", (400, "invalid_request")),
        ("alltime/preview?score=1.5", (400, "invalid_request")),
        ("alltime/preview?score=1e99", (400, "invalid_request")),
        ("alltime/distribution?buckets=0", (400, "invalid_request")),
        ("alltime/distribution?buckets=1001", (400, "invalid_request")),
        ("alltime/distribution?buckets=x", (400, "invalid_request")),
        ("alltime/preview?score=1&scope=guild:x", (404, "scope_not_found")),
        ("hourly/distribution", (404, "window_not_found")),
    ],
)
def test_what_makes_no_sense_is_refused(api: ApiClient, path: str, said: tuple[int, str]) -> None:
    Arena(api)
    assert told(api.get(f"{SOLO}/leaderboards/{path}")) == said


def test_a_score_beyond_the_range_has_a_rank_too(api: ApiClient) -> None:
    arena = Arena(api)
    arena.fill(1000, 0)
    assert arena.preview(-5) == (3, 2)
    assert arena.preview(9007199254740992) == (1, 2)


def test_who_is_banned_is_counted_no_more(api: ApiClient) -> None:
    arena = Arena(api)
    arena.fill(500, 400, 300)
    assert arena.preview(350) == (3, 3)
    Ban.objects.create(player=Player.objects.get(player_id="p-1"), kind="ban", reason="x")
    drain(arena.mode)
    assert arena.preview(350) == (2, 2)
    assert arena.distribution() == [(300, 300, 1), (400, 400, 1)]


def test_a_histogram_of_another_generation_or_window_is_not_used(api: ApiClient) -> None:
    arena = Arena(api)
    arena.fill(500, 400)
    board = board_named(mode=arena.mode, window="alltime", scope="global", at=timezone.now())
    wrong = Made(1, histogram_of_tally([(900, 70)], dense=False), whole=False)
    published.publish(board, wrong, at=timezone.now())
    assert arena.preview(450) == (71, 70), "as published"
    mode_rebuild(mode=arena.mode, now=timezone.now())
    assert arena.preview(450) == (2, 2)
    assert arena.preview(450, window="daily") == (2, 2)


def test_decimals_are_exact_in_a_preview(api: ApiClient) -> None:
    arena = Arena(api, decimals=6, max_score=Decimal(1000))
    arena.fill("0.000001", "0.000002")
    assert api.get(f"{BOARD}/preview?score=0.0000015").status_code == 400
    assert api.get(f"{BOARD}/preview?score=0.000002").json()["rank"] == 1
