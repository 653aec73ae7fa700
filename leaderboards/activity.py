"""What just happened, with names: nothing of whom boards do not show, nor what counts no more. For everybody alike, but
for who is shadow banned: it sees itself, as on boards.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from django.db import connection

from config import clock
from config.recall import Recall
from config.sql import numbers, texts
from config.valkey import ValkeyUnavailable
from leaderboards import happenings, placements
from leaderboards.happenings import Happened
from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.rules.happenings import Kind
from leaderboards.rules.instants import instant_of
from leaderboards.wire_activity import Happening
from players.profiles import Profile, profiles
from players.shadows import player_shadowed

NOBODY: Mapping[int, str | None] = {}
_SECOND = 1.0  # that an answer is kept in the process, unless somebody is banned or erased meanwhile
_LATELY = 3600 * 1_000_000  # microseconds: a best of longer ago was not had then, but put on the boards again


def activity_recent(mode: Mode, *, most: int, player_id: str | None = None) -> list[Happening]:
    """Newest first, as that player of the game sees it. A cache that is down is an empty feed."""
    return activity_of([mode], most=most, players={mode.game_id: player_id})[mode]


def activity_of(
    modes: Sequence[Mode], *, most: int, players: Mapping[int, str | None] = NOBODY
) -> dict[Mode, list[Happening]]:
    """Of each; `players`: who looks, by game. A cache that is silent is waited for once."""
    found: dict[Mode, list[Happening]] = {mode: [] for mode in modes}
    at = clock.now()
    with suppress(ValkeyUnavailable):
        for mode in modes:
            player_id = players.get(mode.game_id)
            viewer = player_id and player_shadowed(mode.game_id, player_id, mode=mode.pk, at=at)
            found[mode] = (_kept.get((mode, viewer or None)) or [])[:most]
    return found


def _load(asked: tuple[Mode, int | None]) -> list[Happening]:
    mode, viewer = asked
    found = happenings.recent(mode, viewer)
    if not found:
        return []
    standing = [one for one, counts in zip(found, _counting(mode, found), strict=True) if counts]
    listed = _listed(mode, {one.player for one in standing})
    shown = profiles(listed if viewer is None else {*listed, viewer})
    return [_happening(mode, one, shown[one.player]) for one in standing if one.player in shown]


def _happening(mode: Mode, one: Happened, player: Profile) -> Happening:
    return Happening(
        kind=one.kind.value,
        player_id=player.player_id,
        display_name=player.display_name,
        country=player.country,
        avatar_url=player.avatar_url,
        score=encoding.unscale(one.score, mode.decimals),
        rank=one.rank,
        window=one.window.partition(":")[0],
        window_id=one.window,
        at=instant_of(one.at),
    )


def _listed(mode: Mode, players: set[int]) -> list[int]:
    """Those whom boards show, and should: a ban is known here before the boards know of it."""
    found = placements.placings(mode, players, now=clock.now())
    return [player for player, one in found.items() if one.wanted.listed and one.had is not None and one.had.listed]


def _counting(mode: Mode, some: Sequence[Happened]) -> list[bool]:
    """Of each, whether what the player has now is as good: else it was rolled back, or is over."""
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, [numbers(o.player for o in some), texts(o.window for o in some), mode.pk])
        rows = cursor.fetchall()
    sign = 1 if mode.order == "desc" else -1

    def counts(one: Happened, score: int | None, at: int) -> bool:
        as_good = score is not None and sign * score >= sign * one.score
        return as_good and (one.kind is not Kind.NEW_BEST or at > one.at - _LATELY)

    return [counts(one, *row) for one, row in zip(some, rows, strict=True)]


# looked up one by one, by index
_STANDING = """
SELECT s.score, (extract(epoch FROM s.achieved_at) * 1000000)::bigint
FROM unnest(%s::bigint[], %s::text[]) WITH ORDINALITY AS h (player, win, number)
LEFT JOIN LATERAL (
    SELECT s.score, s.achieved_at FROM leaderboards_standing s
    WHERE s.mode_id = %s AND s.player_id = h.player AND s."window" = h.win AND s.scope = '' LIMIT 1
) s ON true
ORDER BY h.number
"""
_kept: Recall[tuple[Mode, int | None], list[Happening]] = Recall(_load, seconds=_SECOND)
