"""All reads of games and players."""

from collections.abc import Collection
from datetime import datetime

from django.db import connection

from config.sql import numbers, texts
from players import names
from players.access import Caller, Kind
from players.errors import PlayerNotFound
from players.lookups import GameRecord
from players.models import Ban, Game, Player
from players.scopes import Scope
from players.wire import PlayerBan, PlayerExport, PlayerProfile


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


def players_banned(players: Collection[int], *, kinds: Collection[str], at: datetime) -> set[int]:
    """Those among them who are, in one of these ways."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT player_id FROM players_ban WHERE player_id = ANY(%s::bigint[]) AND kind = ANY(%s)"
            " AND starts_at <= %s AND (ends_at IS NULL OR ends_at > %s)",
            [numbers(players), list(kinds), at, at],
        )
        return {row[0] for row in cursor.fetchall()}


def player_profile(player: Player) -> PlayerProfile:
    return PlayerProfile(
        player_id=player.player_id or "",
        display_name=player.display_name,
        country=player.country or None,
        region=player.region or None,
        avatar_url=player.avatar_url or None,
    )


def player_export(*, game: GameRecord, player: Player, caller: Caller) -> PlayerExport:
    bans = Ban.objects.filter(player=player)
    if caller.kind is Kind.PLAYER:
        bans = bans.exclude(kind=Ban.Kind.SHADOW)  # which would be none if it could be asked for
    return PlayerExport(
        game=game.slug,
        player=player_profile(player),
        created_at=player.created_at,
        last_seen_at=player.last_seen_at,
        tokens_valid_from=player.tokens_valid_from,
        bans=[_ban(ban) for ban in bans],
    )


def _ban(ban: Ban) -> PlayerBan:
    return PlayerBan(
        kind=ban.kind, starts_at=ban.starts_at, ends_at=ban.ends_at, reason=ban.reason, created_at=ban.created_at
    )


def players_count(*, game: int, seen_since: datetime | None = None) -> int:
    players = Player.objects.filter(game_id=game, erased_at__isnull=True)
    return (players.filter(last_seen_at__gte=seen_since) if seen_since else players).count()


def players_newest(*, game: int, most: int) -> list[Player]:
    return list(Player.objects.filter(game_id=game, erased_at__isnull=True).order_by("-pk")[:most])
