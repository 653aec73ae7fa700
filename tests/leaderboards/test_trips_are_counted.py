"""What a request costs: statements to PostgreSQL and trips to Valkey. More items cost no more, nor do more shards."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config import recall, valkey
from leaderboards import histograms, selectors, waiting
from leaderboards.models import Mode
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain

pytestmark = pytest.mark.django_db(transaction=True)
FEW, MANY = 1, 200


class Cost(NamedTuple):
    statements: (
        int  # with BEGIN and COMMIT; three to five of them are for the key, the game and bans, mostly remembered
    )
    boards: int  # trips to the boards' database
    cache: int
    broker: int


class Trips:
    """What this thread sends to Valkey, by database. A pipeline is sent at once, so it is one trip."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: Counter[int] = Counter()
        own = threading.get_ident()
        kind = valkey.redis.connection.AbstractConnection
        send = kind.send_packed_command

        def counted(itself: Any, command: Any, check_health: bool = True) -> None:
            if check_health and threading.get_ident() == own:  # else a ping after a long pause
                self.sent[itself.db] += 1
            send(itself, command, check_health=check_health)

        monkeypatch.setattr(kind, "send_packed_command", counted)

    def to(self, url: str) -> int:
        return self.sent[int(urlsplit(url).path.lstrip("/"))]


class House:
    """250 players on the boards of `arena`, and as many attempts of p-0; every connection has been made."""

    def __init__(self, api: ApiClient, mode: Mode, trips: Trips) -> None:
        self.api, self.mode, self.trips = api, mode, trips
        self.key, self.token = make_key(mode.game), make_token(mode.game, "p-7")
        self.submit("p", 250)
        self("POST", "/scores", json={"scores": [{"mode": "solo", "player_id": "p-0", "score": 9}] * 250})
        drain(mode)
        self("GET", "")
        self.board("/players/p-0")  # who has anything in quarantine is known from here on
        self.submit_one("p-2")  # the histogram is held from here on
        self.names = 0

    def __call__(self, method: str, path: str, *, credential: str = "", **request: Any) -> Cost:
        valkey.client(settings.CACHE_URL).flushdb()  # no bell is rung, nothing counted
        selectors.counted_here.clear()
        self.trips.sent.clear()
        with CaptureQueriesContext(connection) as asked:
            answer = self.api(method, f"/v1/games/arena{path}", credential=credential or self.key, **request)
        assert answer.status_code < 300, answer.text
        self.told = answer.json()
        urls = (settings.VALKEY_URL, settings.CACHE_URL, settings.BROKER_URL)
        return Cost(len(asked), *map(self.trips.to, urls))

    def submit(self, prefix: str, many: int) -> Cost:
        scores = [{"mode": "solo", "player_id": f"{prefix}-{number}", "score": number} for number in range(many)]
        return self("POST", "/scores", json={"scores": scores})

    def submit_one(self, player: str) -> Cost:
        return self("POST", "/modes/solo/scores", json={"player_id": player, "score": 7})

    def new(self) -> str:
        self.names += 1
        return f"new{self.names}"

    def board(self, rest: str = "", **request: Any) -> Cost:
        return self("GET", f"/modes/solo/leaderboards/alltime{rest}", **request)

    def next_page(self, query: str) -> Cost:
        self.board(query)
        limit = query.partition("&")[0]
        return self.board(f"{limit}&cursor={self.told['next_cursor']}")

    def lookup(self, many: int) -> Cost:
        ids = [f"p-{number}" for number in range(many)]
        return self("POST", "/modes/solo/leaderboards/alltime/lookup", json={"player_ids": ids})

    def attempt(self) -> Cost:
        self("GET", "/players/p-0/attempts?limit=1")
        return self("GET", f"/players/p-0/attempts/{self.told['attempts'][0]['attempt_id']}")

    def game_of(self, modes: int) -> Cost:
        for number in range(modes):
            make_mode(self.mode.game, f"mode-{number}")
        return self("GET", "")


@pytest.fixture(params=[1, 4], ids=["one shard", "four shards"])
def house(request: pytest.FixtureRequest, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> House:
    # what is remembered for seconds would make the costs a matter of time
    monkeypatch.setattr(recall.Recall, "get", lambda memory, key: memory._load(key))  # noqa: SLF001
    monkeypatch.setattr(recall.Shelf, "get", lambda shelf, keys: shelf._load(keys))  # noqa: SLF001
    monkeypatch.setattr(histograms, "MOMENT", 1e9)
    monkeypatch.setattr(waiting, "HELD", 1e9)
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    Mode.objects.update(shards=request.param)
    mode.refresh_from_db()
    return House(api, mode, Trips(monkeypatch))


STANDINGS = {"a player", "neighbours", "me", "my neighbours", "a lookup"}
PAGES = {"a page", "a page further down", "a page of a cursor", "a page of a band", "a band's cursor"}
BAND = "&min_score=5&max_score=240"
Ask = Callable[[House, int], Cost]
COSTS: dict[str, tuple[Cost, Ask]] = {
    # .................... statements, boards, cache, broker
    "a score": (Cost(12, 1, 1, 1), lambda house, _: house.submit_one("p-1")),
    "a newcomer's score": (Cost(17, 1, 1, 1), lambda house, _: house.submit_one(house.new())),
    "a page": (Cost(5, 1, 0, 0), lambda house, many: house.board(f"?limit={many}")),
    "a page further down": (Cost(5, 1, 0, 0), lambda house, many: house.board(f"?limit={many}&offset=20")),
    "a page of a cursor": (Cost(5, 2, 0, 0), lambda house, many: house.next_page(f"?limit={many}")),
    "a page of a band": (Cost(5, 2, 0, 0), lambda house, many: house.board(f"?limit={many}{BAND}")),
    "a band's cursor": (Cost(5, 3, 0, 0), lambda house, many: house.next_page(f"?limit={many}{BAND}")),
    "a player": (Cost(5, 1, 0, 0), lambda house, _: house.board("/players/p-100")),
    "neighbours": (Cost(6, 1, 0, 0), lambda house, many: house.board(f"/players/p-100?neighbors={min(many, 50)}")),
    "me": (Cost(8, 1, 0, 0), lambda house, _: house.board("/me", credential=house.token)),
    "my neighbours": (
        Cost(9, 1, 0, 0),
        lambda house, many: house.board(f"/me?neighbors={min(many, 50)}", credential=house.token),
    ),
    "a lookup": (Cost(6, 1, 0, 0), lambda house, many: house.lookup(many)),
    "a preview": (Cost(4, 0, 0, 0), lambda house, many: house.board(f"/preview?score={many}")),
    "a distribution": (Cost(4, 0, 0, 0), lambda house, many: house.board(f"/distribution?buckets={many}")),
    "attempts": (Cost(5, 0, 0, 0), lambda house, many: house("GET", f"/players/p-0/attempts?limit={many}")),
    "an attempt": (Cost(5, 0, 0, 0), lambda house, _: house.attempt()),
    "a mode": (Cost(4, 0, 0, 0), lambda house, _: house("GET", "/modes/solo")),
    "a game": (Cost(6, 0, 2, 0), lambda house, many: house.game_of(min(many, 20))),
}


@pytest.mark.parametrize("ranking", ["unique", "competition"])
def test_each_request_costs_so_much_however_much_is_asked_for(house: House, ranking: str) -> None:
    Mode.objects.update(ranking=ranking)
    found = {(what, many): ask(house, many) for what, (_, ask) in COSTS.items() for many in (FEW, MANY)}
    expected = {(what, many): cost for what, (cost, _) in COSTS.items() for many in (FEW, MANY)}
    for (what, many), cost in expected.items():
        # places are looked for in each shard first; and a rank that equals share is one more question
        more = (what in STANDINGS and house.mode.shards > 1) + (what in STANDINGS | PAGES and ranking != "unique")
        expected[what, many] = cost._replace(boards=cost.boards + more)
    assert found == expected


def test_a_batch_costs_as_much_as_one_and_a_row_and_a_ring_for_each_shard(house: House) -> None:
    for many, streams in ((FEW, 1), (MANY, house.mode.shards)):
        assert house.submit("p", many) == Cost(9 + streams, 0, streams, streams)
        assert house.submit(house.new(), many) == Cost(14 + streams, 0, streams, streams), "of newcomers"


def test_a_histogram_that_is_not_held_costs_a_trip_to_see_whether_it_is_shared_and_one_to_read_it(house: House) -> None:
    for ask, warm in (
        (lambda: house.submit_one("p-3"), Cost(12, 1, 1, 1)),
        (lambda: house.board("/preview?score=5"), Cost(4, 0, 0, 0)),
    ):
        histograms.histograms.forget()
        assert ask() == warm._replace(boards=warm.boards + 1, cache=warm.cache + 1)
        assert ask() == warm


def test_a_board_that_has_not_moved_needs_no_new_histogram(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "MOMENT", 0.0)
    assert house.submit_one("p-3") == Cost(12, 1, 1, 1)
    drain(house.mode)
    house.submit_one("p-3")  # makes what it needs
    assert house.submit_one("p-3") == Cost(12, 1, 1, 1)


def test_a_trip_more_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    server = valkey.client(settings.VALKEY_URL)
    server.ping()
    trips = Trips(monkeypatch)
    server.get("a")
    server.get("b")
    assert trips.to(settings.VALKEY_URL) == 2
    with server.pipeline(transaction=False) as pipe:
        pipe.get("a").get("b").execute()
    assert trips.to(settings.VALKEY_URL) == 3
    assert trips.to(settings.CACHE_URL) == 0
