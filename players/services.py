"""What can be done to keys, players and their tokens."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from msgspec import UNSET

from config import audit
from config.audit import HOUSE, Who
from config.errors import InvalidRequest, Unavailable
from config.recall import forget_after_commit
from players import names
from players.errors import PlayerNotFound
from players.keys import new_key
from players.lookups import GameRecord
from players.models import ApiKey, Ban, ErasedId, Game, Player
from players.profile import id_digest, profile_checks
from players.scopes import Scope
from players.selectors import player_get, players_known
from players.signals import player_changed, player_erased
from players.tokens import CLOCK_SKEW, MOST_SECONDS
from players.wire import PlayerUpsert

_TRIES = 5


def key_create(
    *, game: Game, scopes: Sequence[Scope], label: str = "", expires_at: datetime | None = None, who: Who = HOUSE
) -> tuple[ApiKey, str]:
    """The stored key, and its text, which cannot be had again."""
    made = new_key()
    asked = {"label": label, "scopes": [scope.value for scope in scopes], "expires_at": expires_at}
    with transaction.atomic():
        key = ApiKey.objects.create(game=game, prefix=made.prefix, secret_hash=made.secret_hash, **asked)
        audit.record(verb="key.add", who=who, about=key, after={"prefix": made.prefix, **asked})
    return key, made.text


def key_revoke(*, key: ApiKey, at: datetime, who: Who = HOUSE) -> None:
    if key.revoked_at is None:
        key.revoked_at = at
        with transaction.atomic():
            key.save(update_fields=["revoked_at"])
            audit.record(verb="key.revoke", who=who, about=key, after={"revoked_at": at})


def player_upsert(
    *, game: GameRecord, player_id: str, wanted: PlayerUpsert, at: datetime, who: Who = HOUSE
) -> tuple[Player, bool]:
    """The player as wanted, and whether it is new. What players do with their own profile is nobody's to look into."""
    fields = _checked(player_id, wanted, game)
    with transaction.atomic():
        first = {"display_name": default_name(player_id), **fields, "last_seen_at": at}
        player, made = _locked_or_new(game=game, player_id=player_id, first=first)
        if made:
            _carry_bans(player, at)
        else:
            changed = _change(player, fields | {"last_seen_at": at})
            if changed and who.by != "player":
                audit.record(verb="player.change", who=who, about=player, before=changed, after=fields)
    return player, made


def players_register(*, game: GameRecord, player_ids: Collection[str], at: datetime) -> dict[str, int]:
    """The pks of these ids, most of which are not there yet; sorted, lest two batches deadlock."""
    new = sorted(player_ids)
    for _ in range(_TRIES):
        made = [Player(game_id=game.pk, player_id=one, display_name=default_name(one), last_seen_at=at) for one in new]
        with transaction.atomic():
            Player.objects.bulk_create(made, ignore_conflicts=True)
            known = players_known(game=game, player_ids=new)
            digests = {id_digest(game.pk, one): known[one] for one in new if one in known}
            for erased in ErasedId.objects.filter(game_id=game.pk, digest__in=list(digests)):
                bans = Ban.objects.filter(player_id=erased.player_id).unended(at)
                if bans.update(player_id=digests[bytes(erased.digest)]):
                    forget_after_commit()
        if len(known) == len(new):  # else one was there, and was erased before it could be read
            return known
    raise Unavailable("A player is being made and erased again and again.", retry_after=1)


def player_add(*, player: Player, at: datetime) -> None:
    """As an operator filled it in."""
    with transaction.atomic():
        player.save()
        _carry_bans(player, at)


def _carry_bans(player: Player, at: datetime) -> None:
    """Erasing oneself is no way out of a ban."""
    digest = id_digest(player.game_id, player.player_id or "")
    erased = ErasedId.objects.filter(game_id=player.game_id, digest=digest).first()
    if erased is not None and Ban.objects.filter(player_id=erased.player_id).unended(at).update(player=player):
        forget_after_commit()


def player_edit(*, player: Player, fields: dict[str, Any]) -> None:
    """What an operator corrects. Whoever was erased meanwhile stays erased."""
    with transaction.atomic():
        locked = Player.objects.select_for_update().get(pk=player.pk)
        if locked.erased_at is not None:
            raise PlayerNotFound("The player was erased meanwhile.")
        _change(locked, fields)


def _change(player: Player, fields: dict[str, Any]) -> dict[str, Any]:
    """What of it was different before."""
    before = {name: getattr(player, name) for name, value in fields.items() if getattr(player, name) != value}
    for name in before:
        setattr(player, name, fields[name])
    player.save(update_fields=list(before))
    before.pop("last_seen_at", None)  # is no news to anyone
    if before:
        player_changed.send(sender=Player, player=player, before=before)
    return before


def _locked_or_new(*, game: GameRecord, player_id: str, first: dict[str, Any]) -> tuple[Player, bool]:
    players = Player.objects.select_for_update()
    for _ in range(_TRIES):
        try:
            return players.get_or_create(game_id=game.pk, player_id=player_id, defaults=first)
        except IntegrityError:  # made by another meanwhile, and erased before it could be read
            continue
    raise Unavailable("The player is being made and erased again and again.", retry_after=1)


def player_erase(*, game: GameRecord, player_id: str, at: datetime, who: Who = HOUSE) -> None:
    """Forgets who the player was. The row stays as a number, so that what others did against it stays true."""
    with transaction.atomic():
        player = player_get(game=game, player_id=player_id, lock=True)
        ErasedId.objects.update_or_create(
            game_id=game.pk, digest=id_digest(game.pk, player_id), defaults={"erased_at": at, "player": player}
        )
        player.player_id = None
        player.display_name = player.country = player.region = player.avatar_url = ""
        player.last_seen_at = None
        player.erased_at = at
        player.save()
        player.bans.update(reason="")
        player_erased.send(sender=Player, player=player)
        audit.record(verb="player.erase", who=who, about=player)
    forget_after_commit()


def erased_ids_forget(*, at: datetime) -> int:
    """Once no token and no ban of an erased id can matter any more, even the digest goes."""
    longest = timedelta(seconds=MOST_SECONDS) + CLOCK_SKEW
    banned = Ban.objects.filter(player=OuterRef("player")).unended(at)
    return ErasedId.objects.filter(~Exists(banned), erased_at__lt=at - longest).delete()[0]


def player_revoke_tokens(*, player: Player, at: datetime, who: Who = HOUSE) -> None:
    """Every token of the player made before `at` is refused from now on. Tokens know whole seconds, so one made later
    in the same second is refused as well: better a new one too few than an old one too many.
    """
    player.tokens_valid_from = at
    with transaction.atomic():
        player.save(update_fields=["tokens_valid_from"])
        audit.record(verb="player.sign_out", who=who, about=player, after={"tokens_valid_from": at})
    forget_after_commit()


def default_name(player_id: str) -> str:
    """A player nobody named yet is called by its id, where that can be shown."""
    if names.is_plain(player_id):
        return player_id
    try:
        return names.clean_name(player_id)
    except names.NameRefused:
        return "Player"


def _checked(player_id: str, wanted: PlayerUpsert, game: GameRecord) -> dict[str, str]:
    errors: dict[str, list[str]] = {}
    fields: dict[str, str] = {}
    for field, check in profile_checks(game.slug).items():
        value = getattr(wanted, field)
        if value is UNSET:
            continue
        try:
            fields[field] = "" if value is None else check(value)
        except ValueError as error:
            errors[field] = [str(error)]
    try:
        names.check_player_id(player_id)
    except ValueError as error:
        errors["player_id"] = [str(error)]
    if errors:
        raise InvalidRequest("; ".join(f"{field}: {why[0]}" for field, why in errors.items()), errors=errors)
    return fields
