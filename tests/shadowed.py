"""The same game three times: with a shadow-banned player, with that player free, and with it never having played."""

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban
from players.scopes import Scope
from tests.doors import Ask, Doors
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.leaderboards.spine import drain

PLAYERS = 12
GHOST = 5
REGIONS = ("eu", "na", "")
SCOPES = ("global", "region:eu", "level:1")
_SAID = (b"cache-control", b"vary", b"content-type", b"allow")


class Play(NamedTuple):
    """Who had which score, how many seconds before the end, on which level."""

    player: int
    score: int
    seconds: int
    level: str


class World:
    def __init__(self, rules: dict[str, Any], shards: int, now: datetime) -> None:
        self.now, self.numbers = now, count()
        self.game = make_game()
        made = make_mode(self.game, min_score=0, max_score=100, dimensions=("region", "level"), **rules)
        Mode.objects.filter(pk=made.pk).update(shards=shards, created_at=now - timedelta(days=60))
        self.mode = Mode.objects.select_related("game").get(pk=made.pk)
        self.players = [make_player(self.game, f"p-{n}", region=REGIONS[n % 3]) for n in range(PLAYERS)]
        self.credentials = {
            "nobody": None,
            "key": f"Bearer {make_key(self.game)}",
            "other": f"Bearer {make_token(self.game, 'p-1')}",
            "ghost": f"Bearer {make_token(self.game, f'p-{GHOST}')}",
        }

    def named(self, text: bytes, _: int = 0) -> bytes:
        return text.replace(b"GAME", self.game.slug.encode())

    def play(self, plays: list[Play]) -> None:
        caller = Caller(Kind.KEY, game=self.game.slug, scopes=frozenset(Scope))
        sent = [
            Submission(
                player_id=f"p-{one.player}",
                score=Exact(one.score),
                attempt_id=UUID(int=1000 * self.mode.pk + next(self.numbers)),
                achieved_at=self.now - timedelta(seconds=one.seconds),
                dimensions={"level": one.level} if one.level else {},
            )
            for one in plays
        ]
        scores_submit(game=record_of(self.game), caller=caller, items=[Item(self.mode, one) for one in sent])
        self.rest()

    def rest(self) -> None:
        drain(self.mode)
        self.mode.refresh_from_db()

    def ban(self, kind: Ban.Kind = Ban.Kind.SHADOW, **fields: Any) -> Ban:
        ban = Ban.objects.create(player=self.players[GHOST], kind=kind, reason="cheated", **fields)
        self.rest()
        return ban


class Reader:
    """Of one world through one door: what is told, without what names the world or its history."""

    def __init__(self, doors: Doors, world: World, who: str, *, fast: bool = True) -> None:
        self.doors, self.world, self.who = doors, world, who
        self.door = doors.fast if fast else doors.django

    def ask(self, path: str, *, method: str = "GET", body: Any = None) -> Any:
        path, _, query = path.partition("?")
        ask = Ask(method, f"/v1/games/GAME/modes/solo{path}", query, self.who, body=body)
        status, headers, answer = self.doors.send(self.door, ask, self.world)
        told = dict(headers)
        return status, {name: told.get(name) for name in _SAID} | {"etag": b"etag" in told}, json.loads(answer)

    def told(self, path: str, **request: Any) -> Any:
        status, said, body = self.ask(path, **request)
        for name in ("version", "updated_at", "game"):
            body.pop(name, None)
        for name in ("next_cursor", "prev_cursor"):
            if name in body:
                body[name] = body[name] is not None
        return status, said, body

    def walk(self, query: str) -> list[Any]:
        """From the first page to the last and back, cursor by cursor."""
        first = self._walk(query, "next_cursor", "")
        return [*first, *self._walk(query, "prev_cursor", first[-1]["prev_cursor"])]

    def _walk(self, query: str, way: str, cursor: str | None) -> list[Any]:
        pages: list[Any] = []
        while cursor is not None:
            _, _, page = self.ask(f"/leaderboards/alltime?{query}" + (f"&cursor={cursor}" if cursor else ""))
            pages.append(page)
            cursor = page[way]
        return pages

    def walked(self, query: str) -> Any:
        return [
            (page["entries"], page["total"], page["next_cursor"] is None, page["prev_cursor"] is None)
            for page in self.walk(query)
        ]

    def lookup(self, scope: str) -> Any:
        ids = [*(f"p-{n}" for n in range(PLAYERS)), "nobody"]
        return self.told(f"/leaderboards/alltime/lookup?scope={scope}", method="POST", body={"player_ids": ids})

    def briefly(self) -> dict[str, Any]:
        return {path: self.told(path) for path in BRIEFLY} | {"lookup": self.lookup("global")}

    def at_length(self) -> dict[str, Any]:
        found = self.briefly() | {path: self.told(path) for path in AT_LENGTH}
        found |= {f"lookup in {scope}": self.lookup(scope) for scope in SCOPES[1:]}
        found |= {f"walk in {scope}": self.walked(f"limit=4&scope={scope}") for scope in SCOPES}
        return found | {"walk in a band": self.walked("limit=2&min_score=1&max_score=3")}


_BOARD = "/leaderboards/alltime"
BRIEFLY = [
    *(f"{_BOARD}?scope={scope}" for scope in SCOPES),
    *(f"{_BOARD}/players/p-{n}?neighbors=2" for n in (0, 5, 11)),
    f"{_BOARD}/distribution?buckets=20",
    f"{_BOARD}/preview?score=2",
]
AT_LENGTH = [
    *(f"{_BOARD}?limit=3&offset={offset}" for offset in range(1, 13)),
    *(f"{_BOARD}?scope={scope}&limit=2&offset=1" for scope in SCOPES),
    *(f"{_BOARD}?limit=2&offset={n}&min_score=1&max_score=3" for n in range(3)),
    *(f"{_BOARD}?limit=3&{side}_score=2" for side in ("min", "max")),
    *("/leaderboards/daily", f"{_BOARD}?include=metadata", f"{_BOARD}/distribution?buckets=2"),
    *(f"{_BOARD}/preview?score={score}" for score in (0, 1, 3, 5)),
    *(f"{_BOARD}/players/p-{n}?neighbors={n % 4}" for n in range(1, PLAYERS, 2)),
]
OWN = [
    *(f"{_BOARD}/me?neighbors={n}" for n in (0, 1, 50)),
    *(f"{_BOARD}/me?neighbors=2&scope={scope}" for scope in SCOPES),
    "/leaderboards/daily/me?neighbors=3",
]
