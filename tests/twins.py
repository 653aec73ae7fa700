"""Two games with the same in them, so that what changes one can be asked of the other."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
from django.utils import timezone
from msgspec import Raw

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players import tokens
from players.access import Caller, Kind
from players.models import Ban, Game
from players.scopes import Scope
from players.services import key_create, key_revoke
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.leaderboards.spine import drain

PLAYERS = [f"p-{n}" for n in range(1, 13)] + ["Нова", "a b", "100%", "me", "😀"]
_FROM_SCORES_ON = 1 << 64  # ids of attempts that are there from the beginning
MODES: dict[str, dict[str, Any]] = {
    "solo": {"min_score": 0, "max_score": 1000, "dimensions": ("country", "level"), "dimension_values": 5},
    "laps": {"min_score": 0, "max_score": 1000, "order": "asc", "decimals": 3, "tie_break": "latest"},
    "equal": {"min_score": 0, "max_score": 1000, "ranking": "competition", "tie_break": "none"},
    "thick": {"min_score": 0, "max_score": 1000, "ranking": "dense"},
    "total": {"aggregation": "sum", "min_score": 0, "max_score": 1000, "max_total": 100_000},
    "last": {"aggregation": "latest", "windows": ("daily",)},
    "free": {"submit": "open", "dimensions": ("country", "level", "map"), "values": {"map": ("ice",)}},
    "vouched": {"submit": "token"},
    "empty": {},
    "off": {},
}


class Twin:
    def __init__(self, letter: str, now: datetime) -> None:
        self.slug, self.closed = f"twin-{letter}", f"shut-{letter}"
        self.game, self.private = make_game(self.slug), make_game(self.closed, public=False)
        stranger = make_game(f"else-{letter}")
        self.modes = [make_mode(self.game, slug, **rules) for slug, rules in MODES.items()]
        self.modes.append(make_mode(self.private, **MODES["solo"]))
        for game in (self.game, self.private):
            for number, one in enumerate(PLAYERS):
                make_player(game, one, country="DE" if number % 2 else "")
        banned = make_player(self.game, "banned")
        Ban.objects.create(player=banned, kind=Ban.Kind.BAN, reason="cheated")
        make_player(self.game, "idle")
        for mode in self.modes:
            if mode.slug not in {"empty", "off"}:
                self._fill(mode, now)
        Mode.objects.filter(slug="off").update(active=False)
        self.credentials = {
            name: made if made is None or made.startswith(("Basic", "bearer", "Bearer")) else f"Bearer {made}"
            for name, made in _credentials(self.game, self.private, stranger).items()
        } | {"empty": ""}

    def _fill(self, mode: Mode, now: datetime) -> None:
        """Everybody, some equal."""
        sent = [
            Submission(
                player_id=one,
                score=Exact(100 + 10 * (number // 2)),
                attempt_id=UUID(int=_FROM_SCORES_ON + 1000 * mode.pk + number),
                achieved_at=now - timedelta(seconds=number // 3),
                metadata=Raw(b'{"n": %d}' % number),
                dimensions={"level": "7"} if mode.slug == "solo" and number < 5 else {},
            )
            for number, one in enumerate(PLAYERS)
        ]
        caller = Caller(Kind.KEY, game=mode.game.slug, scopes=frozenset(Scope))
        scores_submit(game=record_of(mode.game), caller=caller, items=[Item(mode, one) for one in sent])
        drain(mode, now=now)

    def named(self, text: bytes, number: int = 0) -> bytes:
        text = text.replace(b"GAME", self.slug.encode()).replace(b"PRIVATE", self.closed.encode())
        return text.replace(b"ATTEMPT", str(UUID(int=number + 1)).encode())

    def nameless(self, text: bytes) -> bytes:
        return text.replace(self.slug.encode(), b"GAME").replace(self.closed.encode(), b"PRIVATE")


def _credentials(game: Game, private: Game, stranger: Game) -> dict[str, str | None]:
    now = timezone.now()
    revoked, revoked_text = key_create(game=game, scopes=list(Scope))
    key_revoke(key=revoked, at=now)
    _, expired = key_create(game=game, scopes=list(Scope), expires_at=now - timedelta(seconds=1))
    key = make_key(game)
    signed: Callable[[dict[str, Any]], str] = lambda claims: jwt.encode(claims, game.signing_secret)  # noqa: E731
    hour = int(now.timestamp()) + 3600
    return {
        "nobody": None,
        "key": key,
        "read": make_key(game, Scope.READ),
        "submit": make_key(game, Scope.SUBMIT),
        "manage": make_key(game, Scope.MANAGE),
        "revoked": revoked_text,
        "expired": expired,
        "unknown": "rung_" + "a" * 50,
        "short": "rung_",
        "stranger": make_key(stranger),
        "stranger's player": make_token(stranger, "p-1"),
        "private's": make_key(private),
        "private's, submit": make_key(private, Scope.SUBMIT),
        "private's player": make_token(private, "p-1"),
        "player": make_token(game, "p-1"),
        "new player": make_token(game, "p-new"),
        "idle player": make_token(game, "idle"),
        "banned player": make_token(game, "banned"),
        "player who is not plain": make_token(game, "Нова"),
        "expired player": tokens.player_token(
            game=game.slug, player_id="p-1", secret=game.signing_secret, now=now - timedelta(hours=2), ttl=60
        ),
        "too long a token": make_token(game, "p-1", ttl=30 * 24 * 3600),
        "forged": jwt.encode({"iss": game.slug, "sub": "p-1", "typ": "player", "exp": hour}, "x" * 40),
        "attempt token": signed({"iss": game.slug, "sub": "p-1", "typ": "attempt", "exp": hour}),
        "nobody's token": signed({"iss": game.slug, "typ": "player", "exp": hour}),
        "token of no game": jwt.encode({"iss": "nowhere", "sub": "p-1", "typ": "player", "exp": hour}, "x" * 40),
        "no token": "a.b.c",
        "scheme alone": "Bearer",
        "another scheme": "Basic cnVuZw==",
        "small letters": f"bearer {key}",
        "spaces": f"Bearer   {key} ",
        "not ASCII": "Bearer rung_ÄÖ",
    }


def midday() -> datetime:
    """Of today: its partition is there, and no window ends while a test lasts."""
    return datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
