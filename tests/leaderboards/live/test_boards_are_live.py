"""Whoever watches a board is shown what is on it, at once and whole: states with numbers, at most four a second."""

import asyncio
import time
from datetime import timedelta
from itertools import count

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.utils import timezone

from config import recall, valkey
from leaderboards import keys
from leaderboards.live import announce, watching
from leaderboards.live.announce import boards_announce, boards_sweep
from leaderboards.live.announcements import Announcement
from leaderboards.live.link import Link
from leaderboards.live.threads import Threads
from leaderboards.live.watching import Watched
from leaderboards.models import Mode
from players.models import Ban, Player
from players.shadows import player_shadowed
from tests.cutting import connections_cut
from tests.embedded.processes_of import wait_until
from tests.factories import make_key, make_player, make_token
from tests.leaderboards.live.conftest import Play
from tests.leaderboards.spine import drain
from tests.live import Web
from tests.sockets import Told, follow, opened, shown, subscribe


def _leader(told: Told) -> tuple[str, int] | None:
    return shown(told)[0][1:] if told["entries"] else None


@pytest.mark.usefixtures("worker")
def test_a_snapshot_first_and_then_every_change_whole_and_in_order_in_every_web_process(
    web: Web, strict: Web, play: Play
) -> None:
    play(nova=10, ada=5)
    with opened(web) as short, opened(strict) as other:
        short.ask(subscribe(limit=1))
        heard = [other.ask(subscribe())]
        assert (heard[0]["type"], heard[0]["id"]) == ("snapshot", "a")
        assert heard[0]["window_id"].startswith("daily:")
        play(ada=20)
        heard += other.hear_until(lambda told: _leader(told) == ("ada", 20))
        assert shown(heard[-1]) == [(1, "ada", 20), (2, "nova", 10)]
        play(zoe=30)
        heard += other.hear_until(lambda told: told["total"] == 3)
        assert [one["seq"] for one in heard] == list(range(1, 1 + len(heard)))
        assert {one["type"] for one in heard[1:]} == {"update"}
        assert [one["version"] for one in heard] == sorted(one["version"] for one in heard)
        assert shown(short.hear_until(lambda told: told["total"] == 3)[-1]) == [(1, "zoe", 30)]
        assert other.ask({"op": "unsubscribe", "id": "a"}) == {"type": "unsubscribed", "id": "a"}
        play(zoe=31)
        short.hear_until(lambda told: _leader(told) == ("zoe", 31))
        assert other.is_quiet(seconds=0.5)


@pytest.mark.usefixtures("worker")
def test_a_player_is_told_its_rank_and_each_change_of_it_and_nothing_else(web: Web, play: Play, solo: Mode) -> None:
    token = make_token(solo.game, "ada")
    with opened(web) as socket, opened(web, credential=make_key(solo.game)) as server:
        assert socket.ask(follow())["code"] == "unauthenticated"
        told = socket.ask(follow(token=token))
        assert (told["type"], told["id"], told["seq"], told["player_id"]) == ("rank", "me", 1, "ada")
        assert (told["old_rank"], told["new_rank"], told["score"]) == (None, None, None), "not even registered yet"
        assert server.ask(follow())["code"] == "forbidden"
        assert server.ask(follow(player_id="ada"))["code"] == "player_not_found"
        play(ada=5)
        told = socket.hear()
        assert (told["seq"], told["old_rank"], told["new_rank"], told["score"]) == (2, None, 1, 5)
        assert server.ask(follow(player_id="ada"))["new_rank"] == 1
        play(nova=10, zoe=3)
        told = socket.hear()
        assert (told["seq"], told["old_rank"], told["new_rank"], told["score"]) == (3, 1, 2, 5)
        assert server.hear()["new_rank"] == 2
        play(zoe=4)
        assert socket.is_quiet(seconds=0.7), "that is below"
        Ban.objects.create(player=Player.objects.get(player_id="ada"), kind=Ban.Kind.BAN, reason="cheated")
        told = socket.hear()
        assert (told["seq"], told["old_rank"], told["new_rank"], told["score"]) == (4, 2, None, None)


@pytest.mark.usefixtures("worker")
def test_a_stream_of_scores_is_shown_four_times_a_second_and_then_as_it_is(web: Web, play: Play) -> None:
    with opened(web) as socket:
        assert socket.ask(subscribe())["seq"] == 1
        began = time.monotonic()
        for score in range(1, 81):
            play(ada=score)
            time.sleep(0.02)
        last = socket.hear_until(lambda told: _leader(told) == ("ada", 80))[-1]
        seconds = time.monotonic() - began
        assert 2 <= last["seq"] - 1 <= 4 * seconds + 2
        assert socket.is_quiet(seconds=0.7)


def test_what_was_not_announced_is_found_by_the_sweep(web: Web, play: Play, solo: Mode) -> None:
    board = Watched(solo.pk, "daily", "global").name

    def swept() -> int:
        found = boards_sweep(now=timezone.now())
        boards_announce(now=timezone.now())
        return found

    with opened(web) as socket:
        assert socket.ask(subscribe())["entries"] == []
        play(ada=5)
        drain(solo)
        wait_until(lambda: board in watching.take(10))  # rung for, and lost
        assert swept() == 1
        assert _leader(socket.hear()) == ("ada", 5)
        assert swept() == 0
        player = Player.objects.get(player_id="ada")
        player.display_name = "Ada L."
        player.save()
        wait_until(lambda: swept() == 1)
        assert socket.hear()["entries"][0]["display_name"] == "Ada L."
        tomorrow = timezone.now() + timedelta(days=1)

        def announced() -> bool:
            watching.note({board: {watching.top(10)}}, at=tomorrow)  # as a web process says then; ours, of today
            return boards_sweep(now=tomorrow) == 1 == boards_announce(now=tomorrow)

        wait_until(announced)
        told = socket.hear()
        assert (told["window_id"], told["entries"]) == (f"daily:{tomorrow:%Y-%m-%d}", [])


def test_whoever_announces_has_a_turn_and_its_clock_goes_on(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """A board marked again and again: over midnight it is another, and after a second others have the worker."""
    drain(solo)
    midnight = (timezone.now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    board, days, clock = Watched(solo.pk, "daily", "global").name, list[str](), [0.0]

    def send(found: list[Announcement]) -> None:
        days.extend(one.top.window_id for one in found if one.top)
        clock[0] += 0.6  # seconds that it took
        if len(days) < 5:
            watching.mark([board])

    monkeypatch.setattr(announce, "monotonic", lambda: clock[0])
    monkeypatch.setattr(announce, "_send", send)
    watching.note({board: {watching.top(10)}}, at=midnight)
    watching.mark([board])
    assert boards_announce(now=midnight - timedelta(seconds=0.3)) == 2
    assert days == [f"daily:{midnight - timedelta(days=1):%Y-%m-%d}", f"daily:{midnight:%Y-%m-%d}"]
    assert not valkey.cache_add(keys.live_bell(), seconds=1), "rung for, already"
    assert watching.take(10) == [board]


def test_who_is_off_the_top_by_a_shadow_ban_that_was_not_heard_of_yet_is_not_shown_it(
    solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Announcement] = []
    monkeypatch.setattr(announce, "_send", sent.extend)
    nova, board = make_player(solo.game, "nova"), Watched(solo.pk, "alltime", "global").name
    drain(solo)
    watching.note({board: {watching.top(10), watching.player("nova"), watching.itself("nova")}}, at=timezone.now())
    wait_until(lambda: player_shadowed(solo.game_id, "nova", mode=solo.pk, at=timezone.now()) is None and _hears())
    Ban.objects.bulk_create([Ban(player=nova, kind=Ban.Kind.SHADOW, reason="", starts_at=timezone.now())])  # no signal
    watching.mark([board])
    boards_announce(now=timezone.now())
    (told,) = sent
    assert "nova" not in told.players
    assert "nova" in told.ghosts


def test_a_score_that_only_its_player_is_shown_is_rung_for_on_each_of_its_boards_and_for_nobody_else(
    solo: Mode, play: Play
) -> None:
    Mode.objects.filter(pk=solo.pk).update(dimensions=["region"])
    nova = make_player(solo.game, "nova", region="eu")
    Ban.objects.create(player=nova, kind=Ban.Kind.SHADOW, reason="cheated")
    play(ada=1)
    drain(solo)
    names = [
        Watched(solo.pk, window, scope).name for window in ("daily", "alltime") for scope in ("global", "region:eu")
    ]
    boards = [*names, Watched(solo.pk, "daily", "region:na").name]
    watching.note({board: {watching.top(10), watching.player("ada")} for board in boards}, at=timezone.now())
    marked, scores = set[str](), count(5)

    def is_rung_for() -> bool:
        """Again, where what everybody is told of ada was still on its way, and would have told of nova as well."""
        play(nova=next(scores))
        drain(solo)
        marked.update(watching.take(10))
        return all(watching.unseen(name) in marked for name in names)

    wait_until(is_rung_for)
    marked = {mark for mark in marked if watching.marked_as(mark)[1]}
    assert marked == {watching.unseen(name) for name in names}
    watching.mark(marked)
    assert boards_announce(now=timezone.now()) == 0, "nobody is there to be told"


def _hears() -> bool:
    return recall.changes.epoch is not None  # else nothing is remembered


def test_a_turn_that_ends_rings_for_the_next(solo: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    drain(solo)
    monkeypatch.setattr(announce, "_TURN", -1.0)
    monkeypatch.setattr(announce, "_AT_ONCE", 1)
    boards = [Watched(solo.pk, window, "global").name for window in ("daily", "weekly")]
    watching.note({board: {watching.top(10)} for board in boards}, at=timezone.now())
    watching.mark(boards)
    assert boards_announce(now=timezone.now()) == 1
    assert not valkey.cache_add(keys.live_bell(), seconds=1), "rung for, already"
    assert boards_announce(now=timezone.now()) == 1
    assert watching.take(10) == []


@pytest.mark.usefixtures("worker")
def test_a_channel_layer_that_was_away_and_has_forgotten_everything_is_joined_again(web: Web, play: Play) -> None:
    with opened(web) as socket:
        assert socket.ask(subscribe())["seq"] == 1
        for url in (settings.CHANNELS_URL, settings.CACHE_URL):
            valkey.client(url).flushdb()
        connections_cut(settings.CHANNELS_URL, "normal")
        play(ada=5)
        assert _leader(socket.hear()) == ("ada", 5)
        assert socket.ask({"op": "ping"}) == {"type": "pong"}


def test_a_web_process_that_died_is_sent_nothing_after_a_minute() -> None:
    """It cannot say goodbye; whoever lives says every few seconds that it does."""
    layer = get_channel_layer()

    @async_to_sync
    async def members_after_a_message() -> int:
        await layer.group_add("nobodys", "alive")
        await layer.group_add("nobodys", "dead")
        server = valkey.client(settings.CHANNELS_URL)
        (group,) = server.keys("*:nobodys")
        server.zadd(group, {"dead": time.time() - 61})
        await layer.group_send("nobodys", {"type": "board"})
        return int(server.zcard(group))

    assert members_after_a_message() == 1
    assert layer.group_expiry > 5 * watching.SAID_EVERY


@pytest.mark.django_db(transaction=True)
def test_an_announcement_that_the_layer_lost_is_noticed_and_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SAID_EVERY", 0.1)
    board = Watched(1, "daily", "global").name

    async def watch() -> bool:
        link = Link(Threads(), watched=lambda: {board: {watching.top(10)}}, hear=lambda _: None)
        await link.begin()
        await link.join(board, {watching.top(10)})
        watching.numbered([board])  # sent, and never come
        for _ in range(600):
            await asyncio.sleep(0.05)
            if board in watching.take(10):  # beside what others may still ask for
                return True
        return False

    assert async_to_sync(watch)()


@pytest.mark.django_db(transaction=True)
def test_who_subscribes_beside_the_first_waits_for_the_group_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it reads its snapshot, and what is announced then is not heard here."""
    board = Watched(1, "daily", "global").name

    async def second_is_early() -> bool:
        link = Link(Threads(), watched=dict, hear=lambda _: None)
        entering, both, gate = 0, asyncio.Event(), asyncio.Event()

        async def enter(_: object) -> None:
            nonlocal entering
            entering += 1
            if entering == 2:
                both.set()
            await gate.wait()

        monkeypatch.setattr(link, "_enter", enter)
        loop = asyncio.get_running_loop()
        first, second = (loop.create_task(link.join(board, {watching.top(limit)})) for limit in (10, 20))
        waiting = loop.create_task(both.wait())
        await asyncio.wait({first, second, waiting}, return_when=asyncio.FIRST_COMPLETED)
        early = not waiting.done()
        gate.set()
        await asyncio.wait({first, second})
        waiting.cancel()
        return early

    assert not async_to_sync(second_is_early)()


@pytest.mark.usefixtures("worker")
def test_boards_over_several_shards_and_of_one_scope_are_live(web: Web, play: Play, solo: Mode) -> None:
    Mode.objects.filter(pk=solo.pk).update(shards=3)
    for number in range(6):
        make_player(solo.game, f"p-{number}", region="eu" if number % 2 else "na")
    with opened(web) as socket:
        socket.ask(subscribe(id="all", window="alltime"))
        socket.ask(subscribe(id="eu", scope="region:eu", limit=2))
        play(**{f"p-{number}": number for number in range(6)})
        heard: dict[str, Told] = {}

        def complete(told: Told) -> bool:
            heard[told["id"]] = told
            return {one: found["total"] for one, found in heard.items()} == {"all": 6, "eu": 3}

        socket.hear_until(complete)
        assert shown(heard["all"]) == [(6 - number, f"p-{number}", number) for number in range(5, -1, -1)]
        assert shown(heard["eu"]) == [(1, "p-5", 5), (2, "p-3", 3)]
        assert socket.ask(subscribe(id="x", scope="level:7"))["code"] == "scope_not_found"
        assert socket.ask(subscribe(id="x", window="hourly"))["code"] == "window_not_found"
