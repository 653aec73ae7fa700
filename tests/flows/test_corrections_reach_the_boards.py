"""What becomes of a player reaches every board it is on, and the ranks of the others close up."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from config import valkey
from leaderboards import keys, log
from leaderboards.errors import AttemptNotFound
from leaderboards.models import Mode, Outbox
from leaderboards.outbox import shard_of
from leaderboards.services.corrections import attempt_restore, attempt_take_back, bans_follow
from players.models import Ban, Player
from players.services import player_edit, player_erase
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, record_of
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
SCOPES = ("global", "region:eu", "country:DE", "level:7")
Listed = Callable[..., list[tuple[int, str]]]


@pytest.fixture(params=[1, 3])
def solo(request: pytest.FixtureRequest, api: ApiClient) -> Mode:
    """p-1, p-2, p-3 have 1, 2, 3 on every board."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000, dimensions=("region", "country", "level"))
    Mode.objects.update(shards=request.param)
    mode.refresh_from_db()
    key = make_key(mode.game)
    for number in (1, 2, 3):
        make_player(mode.game, f"p-{number}", region="eu", country="DE")
        _send(api, key, f"p-{number}", number, attempt=number)
    drain(mode)
    mode.refresh_from_db()
    return mode


def _send(api: ApiClient, key: str, player: str, score: int, *, attempt: int) -> None:
    body = {"player_id": player, "score": score, "attempt_id": str(UUID(int=attempt)), "dimensions": {"level": "7"}}
    body |= {"metadata": {"replay": "x"}, "client": {"build": "1"}}
    assert api("POST", f"{SOLO}/scores", credential=key, json=body).status_code == 202


@pytest.fixture
def listed(api: ApiClient, solo: Mode) -> Listed:
    def on_all(*scopes: str) -> list[tuple[int, str]]:
        """On these boards in every window, which must agree; after all that is pending."""
        drain(solo)
        assert not Outbox.objects.exists()
        boards = []
        for window in solo.windows:
            for scope in scopes or SCOPES:
                board = api.get(f"{SOLO}/leaderboards/{window}?scope={scope}").json()
                assert board["total"] == len(board["entries"])
                boards.append([(entry["rank"], entry["player_id"]) for entry in board["entries"]])
        assert all(board == boards[0] for board in boards), boards
        return boards[0]

    return on_all


ALL = [(1, "p-3"), (2, "p-2"), (3, "p-1")]
WITHOUT_2 = [(1, "p-3"), (2, "p-1")]


def _two() -> Player:
    return Player.objects.get(player_id="p-2")


def _ban(**fields: Any) -> Ban:
    return Ban.objects.create(player=_two(), reason="speed", **fields)


def test_a_player_who_moves_is_listed_where_it_lives(listed: Listed) -> None:
    assert listed() == ALL
    player_edit(player=_two(), fields={"country": "FR", "region": "na"})
    assert listed("region:eu", "country:DE") == WITHOUT_2
    assert listed("region:na", "country:FR") == [(1, "p-2")]
    assert listed("global", "level:7") == ALL


def test_a_player_who_moves_while_a_modes_first_score_is_logged_is_listed_where_it_lives(api: ApiClient) -> None:
    mode = make_mode(make_game("arena"), dimensions=("region",))
    player, key = make_player(mode.game, "p-1", region="eu"), make_key(mode.game)

    def first_score() -> None:
        try:
            api("POST", f"{SOLO}/scores", credential=key, json={"player_id": "p-1", "score": 5})
            drain(mode)
        finally:
            connection.close()

    scoring = threading.Thread(target=first_score)
    with transaction.atomic():
        player_edit(player=player, fields={"region": "na"})
        scoring.start()
        scoring.join(timeout=1)  # before the move is committed; it may as well wait for that
    scoring.join()
    drain(mode)
    boards = [api.get(f"{SOLO}/leaderboards/alltime?scope=region:{one}").json() for one in ("eu", "na")]
    assert [board["total"] for board in boards] == [0, 1]


def test_another_name_is_no_correction(listed: Listed) -> None:
    player_edit(player=_two(), fields={"display_name": "Two"})
    assert not Outbox.objects.exists()
    assert listed() == ALL


def test_a_ban_takes_off_every_board_and_its_end_puts_back(listed: Listed) -> None:
    ban = _ban()
    assert listed() == WITHOUT_2
    ban.ends_at = timezone.now()
    ban.save()
    assert listed() == ALL
    ban.ends_at = None
    ban.save()
    assert listed() == WITHOUT_2
    ban.delete()
    assert listed() == ALL


def test_a_ban_moved_to_another_player_frees_the_first(listed: Listed) -> None:
    ban = _ban()
    assert listed() == WITHOUT_2
    ban.player = Player.objects.get(player_id="p-3")
    ban.save()
    assert listed() == [(1, "p-2"), (2, "p-1")]


def test_a_score_sent_in_the_shadow_shows_once_the_ban_is_over(api: ApiClient, solo: Mode, listed: Listed) -> None:
    ban = _ban(kind=Ban.Kind.SHADOW)
    _send(api, make_key(solo.game), "p-2", 9, attempt=9)
    assert listed() == WITHOUT_2
    ban.delete()
    assert listed() == [(1, "p-2"), (2, "p-3"), (3, "p-1")]


@pytest.mark.parametrize("looked_before", [True, False])
def test_a_ban_begins_and_ends_by_the_clock(solo: Mode, *, looked_before: bool, listed: Listed) -> None:
    now = timezone.now()
    if looked_before:
        assert bans_follow(now=now) == 0
    _ban(starts_at=now + timedelta(hours=2), ends_at=now + timedelta(hours=4))
    assert listed() == ALL
    at = now + timedelta(hours=3)
    assert bans_follow(now=at) == 1
    drain(solo, now=at)
    assert listed() == WITHOUT_2
    assert bans_follow(now=at) == 0
    at = now + timedelta(hours=5)
    assert bans_follow(now=at) == 1
    drain(solo, now=at)
    assert listed() == ALL
    assert bans_follow(now=at) == 0


def test_an_erased_player_leaves_the_boards_and_nothing_personal_in_the_log(solo: Mode, listed: Listed) -> None:
    pk = _two().pk
    player_erase(game=record_of(solo.game), player_id="p-2", at=timezone.now())
    assert listed() == WITHOUT_2
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id, metadata IS NULL AND client IS NULL FROM score_attempts WHERE mode_id = %s", [solo.pk]
        )
        assert {player for player, blank in cursor.fetchall() if blank} == {pk}


@pytest.mark.parametrize("aggregation", ["best", "sum", "latest"])
def test_an_attempt_taken_back_counts_nowhere_and_restored_counts_again(
    api: ApiClient, solo: Mode, aggregation: str, listed: Listed
) -> None:
    Mode.objects.update(aggregation=aggregation)
    solo.refresh_from_db()
    valkey.client(settings.VALKEY_URL).flushdb()  # other rules, other places
    two = _two().pk
    _send(api, make_key(solo.game), "p-2", 9, attempt=9)
    first = [(1, "p-2"), (2, "p-3"), (3, "p-1")]
    assert listed() == first
    attempt_take_back(mode=solo, player=two, attempt_id=UUID(int=9))
    attempt_take_back(mode=solo, player=two, attempt_id=UUID(int=9))
    assert listed() == ALL
    assert log.find([(two, UUID(int=9))], since=solo.created_at)[two, UUID(int=9)].state is log.State.TAKEN_BACK
    attempt_take_back(mode=solo, player=two, attempt_id=UUID(int=2))
    assert listed() == WITHOUT_2, "with no attempt left there is nothing to rank"
    attempt_restore(mode=solo, player=two, attempt_id=UUID(int=9))
    assert listed() == first
    with pytest.raises(AttemptNotFound):
        attempt_restore(mode=solo, player=two, attempt_id=UUID(int=77))


def test_a_score_pending_when_it_is_taken_back_does_not_come_later(api: ApiClient, solo: Mode, listed: Listed) -> None:
    _send(api, make_key(solo.game), "p-2", 9, attempt=9)
    attempt_take_back(mode=solo, player=_two().pk, attempt_id=UUID(int=9))
    assert listed() == ALL


def test_no_other_attempt_is_taken_back(api: ApiClient, solo: Mode) -> None:
    key, two, three = make_key(solo.game), _two().pk, Player.objects.get(player_id="p-3").pk
    name = UUID(int=9)
    for player in ("p-2", "p-3"):
        _send(api, key, player, 9, attempt=9)
    with pytest.raises(AttemptNotFound):
        attempt_take_back(mode=make_mode(solo.game, "duel"), player=two, attempt_id=name)
    attempt_take_back(mode=solo, player=two, attempt_id=name)
    found = log.find([(two, name), (three, name)], since=solo.created_at)
    assert [found[player, name].state for player in (two, three)] == [log.State.TAKEN_BACK, log.State.ACCEPTED]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE score_attempts SET state = %s WHERE mode_id = %s", [log.State.QUARANTINED, solo.pk])
    for change in (attempt_take_back, attempt_restore):
        with pytest.raises(AttemptNotFound):
            change(mode=solo, player=two, attempt_id=name)


def _rung(mode: Mode) -> set[int]:
    return {shard for shard in range(mode.shards) if valkey.cache_get(keys.bell(mode.pk, shard))}


def test_each_correction_rings_once_it_is_committed(solo: Mode) -> None:
    two = _two()
    attempt = {"mode": solo, "player": two.pk, "attempt_id": UUID(int=2)}
    corrections: list[Callable[[], object]] = [
        lambda: player_edit(player=two, fields={"country": "FR"}),
        _ban,
        lambda: Ban.objects.get().delete(),
        lambda: attempt_take_back(**attempt),
        lambda: attempt_restore(**attempt),
        lambda: player_erase(game=record_of(solo.game), player_id="p-2", at=timezone.now()),
    ]
    for number, correct in enumerate(corrections):
        drain(solo)
        with transaction.atomic():
            correct()
            assert _rung(solo) == set(), number
        assert _rung(solo) == {shard_of(two.pk, solo.shards)}, number
