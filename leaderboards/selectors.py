"""Reads of games and modes. Boards are read in board_states.py, attempts in attempts.py."""

from datetime import datetime
from decimal import Decimal
from time import monotonic

from django.conf import settings
from django.core.cache import cache
from msgspec import UNSET

from leaderboards import wire
from leaderboards.errors import ModeNotFound
from leaderboards.models import RULES, Mode
from leaderboards.rules import encoding, windows
from leaderboards.rules.mode import ModeRules, examine
from players.lookups import GameRecord
from players.models import Game
from players.selectors import players_count

_COUNTED_EVERY = 30  # seconds, at least
_TOLD_FOR = 24 * 3600  # to those who ask while somebody counts
_MOST_GAMES = 1000
_Counted = tuple[tuple[int, int], float]  # and when it is due again
counted_here: dict[int, _Counted] = {}  # by this process, for as long as the cache knows nothing


def mode_get(*, game: GameRecord, mode: str) -> Mode:
    found = None if "\0" in mode else Mode.objects.filter(game_id=game.pk, slug=mode).select_related("game").first()
    if found is None:
        raise ModeNotFound(f"There is no mode {mode!r} in {game.slug}.")
    return found


def mode_state(mode: Mode, *, at: datetime, tuning: bool = False) -> wire.ModeState:
    """`tuning`: for whom nothing is secret about how scores are checked."""
    rules = mode.rules
    values = {name: getattr(rules, name) for name in RULES}
    for name in ("min_score", "max_score", "max_total"):
        values[name] = _unscaled(values[name], rules)
    values["bounds"] = {
        scope: wire.ValueBoundsState(min_score=_unscaled(sides.low, rules), max_score=_unscaled(sides.high, rules))
        for scope, sides in rules.bounds.items()
    }
    values["windows"], values["dimensions"] = list(rules.windows), list(rules.dimensions)
    values["values"] = {name: list(declared) for name, declared in rules.values.items()}
    return wire.ModeState(
        game=mode.game.slug,
        mode=mode.slug,
        title=mode.title,
        description=mode.description,
        active=mode.active,
        current_windows=[_window_state(kind, rules, at) for kind in rules.windows],
        warnings=examine(rules).warnings,
        checks=mode.checks if tuning else UNSET,
        **values,
    )


def game_state(game: GameRecord, *, at: datetime) -> wire.GameState:
    modes = Mode.objects.filter(game_id=game.pk).select_related("game").order_by("slug")
    players, active = players_of(game.pk, at)
    return wire.GameState(
        game=game.slug,
        title=game.title,
        public=game.public,
        players=players,
        players_active_today=active,
        idempotency_hours=settings.IDEMPOTENCY_HOURS,
        modes=[mode_state(mode, at=at) for mode in modes],
    )


def game_list(games: list[Game]) -> wire.GameList:
    return wire.GameList(
        games=[wire.GameSummary(game=game.slug, title=game.title, public=game.public) for game in games]
    )


def _window_state(kind: str, rules: ModeRules, at: datetime) -> wire.WindowState:
    window = windows.window_at(kind, at, windows.timezone_named(rules.timezone))
    return wire.WindowState(
        window=kind,
        window_id=window.id,
        starts_at=window.starts_at,
        resets_at=window.ends_at,
        tie_resolution_ms=rules.tie_resolution_ms(kind),
    )


def _unscaled(raw: int | None, rules: ModeRules) -> Decimal | int | None:
    return None if raw is None else encoding.unscale(raw, rules.decimals)


def players_of(game: int, at: datetime) -> tuple[int, int]:
    """All, and those seen since midnight UTC. A count reads every row: it is done seldom enough to be a hundredth of
    the time, and whoever asks meanwhile is told what was counted last.
    """
    now, began = at.timestamp(), monotonic()
    known: _Counted | None = cache.get(_counted_key(game)) or counted_here.get(game)
    if known is not None:
        counted, due = known
        if now < due:
            return counted
        _keep(game, (counted, now + _COUNTED_EVERY))
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    counted = players_count(game=game), players_count(game=game, seen_since=midnight)
    _keep(game, (counted, now + max(_COUNTED_EVERY, 100 * (monotonic() - began))))
    return counted


def _keep(game: int, counted: _Counted) -> None:
    cache.set(_counted_key(game), counted, _TOLD_FOR)
    if len(counted_here) >= _MOST_GAMES:
        counted_here.clear()
    counted_here[game] = counted


def _counted_key(game: int) -> str:
    return f"counted:{game}"
