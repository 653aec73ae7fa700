"""All reads of games and players."""

import re
from collections.abc import Collection
from datetime import datetime

from django.db import connection
from django.db.models import Q

from config import replica
from config.sql import numbers, texts
from players import names
from players.access import Caller, Kind
from players.errors import PlayerNotFound
from players.lookups import GameRecord
from players.models import Ban, Game, Player
from players.scopes import Scope
from players.wire import PlayerBan, PlayerExport, PlayerProfile

Banned = set[tuple[int, int | None]]  # player, and from which mode; None: from all


def games_visible(caller: Caller) -> list[Game]:
    """Those the caller may know of: its own; for operators all; for nobody the public ones."""
    games = Game.objects.order_by("slug")
    if caller.game is not None:
        games = games.filter(slug=caller.game)
    elif Scope.READ not in caller.scopes:
        games = games.filter(public=True)
    return list(games[:1000])


def player_get(*, game: GameRecord, player_id: str, lock: bool = False) -> Player:
    players = Player.objects.select_for_update() if lock else Player.objects.all()
    try:
        return players.get(game_id=game.pk, player_id=names.check_player_id(player_id))
    except (Player.DoesNotExist, ValueError):  # what cannot be an id is nobody's
        raise PlayerNotFound(f"There is no player {player_id!r} in {game.slug}.") from None


def players_known(*, game: GameRecord, player_ids: Collection[str]) -> dict[str, int]:
    """The pks of those among the ids that are registered."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id, id FROM players_player WHERE game_id = %s AND player_id = ANY(%s::text[])",
            [game.pk, texts(player_ids)],
        )
        return dict(cursor.fetchall())


def players_banned(players: Collection[int], *, kinds: Collection[str], at: datetime) -> Banned:
    """Those among them who are, in one of these ways."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id, mode_id FROM players_ban WHERE player_id = ANY(%s::bigint[]) AND kind = ANY(%s)"
            " AND starts_at <= %s AND (ends_at IS NULL OR ends_at > %s)",
            [numbers(players), list(kinds), at, at],
        )
        return set(cursor.fetchall())


def player_profile(player: Player) -> PlayerProfile:
    return PlayerProfile(
        player_id=player.player_id or "",
        display_name=player.display_name,
        country=player.country or None,
        region=player.region or None,
        avatar_url=player.avatar_url or None,
    )


def player_export(*, game: GameRecord, player: Player, caller: Caller) -> PlayerExport:
    """May be a second behind in what was not done by the player."""
    bans = Ban.objects.filter(player=player).select_related("mode")
    if caller.kind is Kind.PLAYER:
        bans = bans.exclude(kind=Ban.Kind.SHADOW)  # which would be none if it could be asked for
    return PlayerExport(
        game=game.slug,
        player=player_profile(player),
        created_at=player.created_at,
        last_seen_at=player.last_seen_at,
        tokens_valid_from=player.tokens_valid_from,
        bans=[_ban(ban) for ban in replica.read(lambda database: list(bans.using(database)))],
    )


def _ban(ban: Ban) -> PlayerBan:
    return PlayerBan(
        kind=ban.kind,
        mode=ban.mode.slug if ban.mode else None,
        starts_at=ban.starts_at,
        ends_at=ban.ends_at,
        reason=ban.reason,
        created_at=ban.created_at,
    )


def players_count(*, game: int, seen_since: datetime | None = None) -> int:
    players = Player.objects.filter(game_id=game, erased_at__isnull=True)
    return (players.filter(last_seen_at__gte=seen_since) if seen_since else players).count()


def players_newest(*, game: int, most: int) -> list[Player]:
    return list(Player.objects.filter(game_id=game, erased_at__isnull=True).order_by("-pk")[:most])


def players_beginning(*, game: int, text: str, most: int) -> list[str]:
    """Ids of who has that very id, and of those whose name begins so, in whatever case."""
    if not text or "\0" in text:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_BEGINNING, {"game": game, "id": text, "name": f"{_LIKE.sub(_ESCAPED, text)}%", "most": most})
        return list(dict.fromkeys(player_id for (player_id,) in cursor.fetchall()))[:most]


# in the order of the index, so that no plan reads more than is asked for, however names are spread over the games
_BEGINNING = """
SELECT player_id FROM players_player WHERE game_id = %(game)s AND player_id = %(id)s AND erased_at IS NULL
UNION ALL
(SELECT player_id FROM players_player
 WHERE game_id = %(game)s AND upper(display_name) LIKE upper(%(name)s) AND erased_at IS NULL
 ORDER BY upper(display_name) USING ~<~ LIMIT %(most)s)
"""
_LIKE, _ESCAPED = re.compile(r"([\\%_])"), r"\\\1"


def bans_told(*, player: int, mode: int, at: datetime) -> list[Ban]:
    """Those that keep the player off that mode's boards now, as far as it may know: who is shadow banned does not."""
    bans = Ban.objects.filter(Q(mode__isnull=True) | Q(mode=mode), player=player).active(at)
    return list(bans.exclude(kind=Ban.Kind.SHADOW)[:10])


def bans_known(*, player: int, at: datetime) -> list[Ban]:
    """The same of the game and all its modes."""
    bans = Ban.objects.filter(player=player).active(at).select_related("mode")
    return list(bans.exclude(kind=Ban.Kind.SHADOW)[:10])
