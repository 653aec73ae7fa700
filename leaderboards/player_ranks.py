"""All boards that a player stands on: of each mode the current windows, in every scope that is the player's."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import connection

from config.errors import DomainError
from config.sql import numbers, texts
from leaderboards.board_states import Asked, standing_states
from leaderboards.boards.board import Board, board_named
from leaderboards.ghosts import seen_by
from leaderboards.models import Mode
from leaderboards.rules.mode import PLAYERS_OWN
from leaderboards.rules.windows import KINDS, timezone_named, window_at
from leaderboards.wire_players import RanksState, RankState
from leaderboards.wire_scores import StandingState
from players.errors import PlayerNotFound
from players.lookups import GameRecord
from players.profiles import pks_of

MOST_MODES = 50
MOST_BOARDS = 200  # each is a trip
MOST_SUBMITTED = 5  # of a mode's window, in the order of their names: a player may have been on a thousand levels

_ALIKE = ("rank", "score", "achieved_at", "total", "percentile", "top_percent", "version")


def player_ranks(*, game: GameRecord, player_id: str, viewer: str | None, at: datetime) -> RanksState:
    """`viewer`: the player who asks, if it is one: a ghost is told of itself."""
    player = pks_of(game.pk, [player_id]).get(player_id)
    if player is None:
        raise PlayerNotFound(f"There is no player {player_id!r} in {game.slug}.")
    boards = [seen_by(board, viewer, at=at) for board in _boards(game.pk, player, at)]
    told = standing_states([Asked(board, player_id, 0) for board in boards], strict=True)
    return RanksState(player_id=player_id, ranks=list(_ranks(boards, told)))


def _ranks(boards: list[Board], told: list[StandingState | DomainError]) -> Iterator[RankState]:
    for board, standing in zip(boards, told, strict=True):
        if isinstance(standing, DomainError):
            raise standing
        if standing.rank is not None:
            yield _rank(board, standing)


def _rank(board: Board, standing: StandingState) -> RankState:
    return RankState(
        game=board.mode.game.slug,
        mode=board.mode.slug,
        title=board.mode.title,
        window=board.window.kind.value,
        window_id=board.window.id,
        scope=board.scope,
        resets_at=board.window.ends_at,
        **{name: getattr(standing, name) for name in _ALIKE},
    )


def _boards(game: int, player: int, at: datetime) -> list[Board]:
    """Those that the player may be found on; whether it is, and for whom, they say themselves."""
    modes = Mode.objects.filter(game_id=game, first_score_at__isnull=False).select_related("game").order_by("slug")
    named = [(mode, kind) for mode in modes[:MOST_MODES] for kind in KINDS[::-1] if kind in mode.windows]
    ids = [window_at(kind, at, timezone_named(mode.timezone)).id for mode, kind in named]
    found = [
        board_named(mode=mode, window=window, scope=scope, at=at)
        for (mode, _), window, scopes in zip(named, ids, _scopes(player, named, ids), strict=True)
        for scope in scopes
        if scope == "global" or scope.partition(":")[0] in mode.dimensions
    ]
    return found[:MOST_BOARDS]


def _scopes(player: int, named: Sequence[tuple[Mode, str]], windows: Sequence[str]) -> list[list[str]]:
    """For each mode and window."""
    with connection.cursor() as cursor:
        cursor.execute(_FOUND, [numbers(mode.pk for mode, _ in named), texts(windows), *[player] * 2, MOST_SUBMITTED])
        rows = cursor.fetchall()
    found: list[list[str]] = [[] for _ in named]
    for index, scope, *own in rows:
        if scope:
            found[index - 1].append(scope)
            continue
        named_own = zip(PLAYERS_OWN, own, strict=True)
        found[index - 1] += ["global", *(f"{name}:{value}" for name, value in named_own if value)]
    return found


# looked up one by one, by index; "" sorts first
_FOUND = """
SELECT w.number, s.scope, l.region, l.country
FROM unnest(%s::bigint[], %s::text[]) WITH ORDINALITY AS w (mode, win, number)
JOIN LATERAL (
    SELECT l.region, l.country FROM leaderboards_placement l
    WHERE l.mode_id = w.mode AND l.player_id = %s LIMIT 1
) l ON true
JOIN LATERAL (
    SELECT s.scope FROM leaderboards_standing s
    WHERE s.mode_id = w.mode AND s.player_id = %s AND s."window" = w.win ORDER BY s.scope LIMIT %s + 1
) s ON true
ORDER BY w.number, s.scope
"""
