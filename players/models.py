"""Who there is: games (tenants), their API keys, their players, and bans."""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, cast

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import OpClass
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.utils import timezone

from config.errors import InvalidRequest
from config.moments import RULE, can_be_kept
from config.sql import numbers
from players import names
from players.profile import profile_checks
from players.rates import limits_checked
from players.scopes import Scope

valid_slug = RegexValidator(rf"^{names.SLUG.pattern}\Z", names.SLUG_RULE)


def new_signing_secret() -> str:
    return secrets.token_hex(32)


class Game(models.Model):
    """A tenant. Everything else belongs to one."""

    slug = models.CharField(max_length=50, unique=True, validators=[valid_slug])
    title = models.CharField(max_length=100)
    public = models.BooleanField(default=True, help_text="Off: reading needs a key or a token.")
    limits = models.JSONField(
        default=dict,
        blank=True,
        help_text='How often callers may read, for example {"player": {"read": {"per_second": 50, "burst": 50}}}; also'
        " for “address”. per_second 0: no limit. Empty: the defaults.",
    )
    # HS256 needs it in clear, so it cannot be hashed; it is in no admin page, export or log (docs/adr/0005)
    signing_secret = models.CharField(max_length=64, default=new_signing_secret, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        try:
            self.limits = limits_checked(self.limits or {})
        except InvalidRequest as error:
            raise ValidationError({"limits": error.detail}) from None


class ApiKey(models.Model):
    """A game server's credential: the prefix finds it, the hash proves it, the secret itself is kept nowhere."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="keys")
    label = models.CharField(max_length=100, blank=True, help_text="What it is for, e.g. “match server, EU”.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_hash = models.BinaryField(max_length=32, editable=False)
    scopes: "ArrayField[Any, Any]" = ArrayField(models.CharField(max_length=16, choices=Scope.choices()))
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: does not expire.")
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"
        verbose_name_plural = "API keys"

    def __str__(self) -> str:
        return f"rung_{self.prefix}_…"

    def valid_at(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


class Player(models.Model):
    """One player of one game. The compact pk is what boards and the log hold; names live here alone."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="players", db_index=False)
    player_id = models.CharField(max_length=64, null=True, help_text="The game's own id. Empty: erased.")  # noqa: DJ001 - null keeps the pk of an erased player out of the unique pair
    display_name = models.CharField(max_length=64)
    country = models.CharField(max_length=2, blank=True)
    region = models.CharField(max_length=32, blank=True)
    avatar_url = models.URLField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    tokens_valid_from = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Tokens made before are refused."
    )
    erased_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["game", "player_id"], name="player_once_in_its_game"),
            models.CheckConstraint(
                condition=Q(player_id__isnull=False) | Q(erased_at__isnull=False), name="player_has_an_id_or_is_erased"
            ),
        ]
        indexes: ClassVar = [  # how an id begins in any game, and a name in one, in whatever case
            models.Index(fields=["player_id"], name="player_id_begins", opclasses=["varchar_pattern_ops"]),
            models.Index(
                F("game"), OpClass(Upper("display_name"), name="text_pattern_ops"), name="player_named_in_game"
            ),
        ]

    def __str__(self) -> str:
        return self.player_id or f"erased player {self.pk}"

    def clean(self) -> None:
        """The same rules for the admin as for the API."""
        if self.game_id is None:  # which the form says already
            return
        checks = profile_checks(self.game.slug) | {"player_id": names.check_player_id}
        for field, check in checks.items():
            value = getattr(self, field)
            if not value and field not in {"player_id", "display_name"}:
                continue
            try:
                setattr(self, field, check(value or ""))
            except ValueError as error:
                raise ValidationError({field: str(error)}) from None


class ErasedId(models.Model):
    """That an id was erased, without the id: should it register anew, its old tokens stay refused and its bans hold."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="+", db_index=False)
    player = models.OneToOneField(Player, on_delete=models.CASCADE, related_name="erased_id")
    digest = models.BinaryField(max_length=32)  # keyed, so that ids cannot be guessed from it
    erased_at = models.DateTimeField(db_index=True)  # kept while a token or a ban can outlive it

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["game", "digest"], name="erased_id_once_in_its_game")]

    def __str__(self) -> str:
        return f"erased id {self.pk}"


class BanQuerySet(models.QuerySet["Ban"]):
    def unended(self, at: datetime) -> "BanQuerySet":
        """Those that hold then or will."""
        return self.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=at))

    def of(self, players: Iterable[int]) -> "BanQuerySet":
        """With one parameter for all of them."""
        found = self.extra(where=["player_id = ANY(%s::bigint[])"], params=[numbers(players)])
        return cast("BanQuerySet", found)

    def active(self, at: datetime) -> "BanQuerySet":
        """Those that hold at that moment; a ban ends by itself because nothing has to end it."""
        return self.unended(at).filter(starts_at__lte=at)


class Ban(models.Model):
    class Kind(models.TextChoices):
        BAN = "ban", "ban: off every board, may not submit"
        SUSPENSION = "suspension", "suspension: a ban with an end"
        SHADOW = "shadow", "shadow ban: nobody else sees the player"
        HIDDEN = "hidden", "hidden: off every board, may submit"

    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="bans", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.BAN)
    mode = models.ForeignKey(
        "leaderboards.Mode",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        help_text="Empty: every mode of the game.",
    )
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(null=True, blank=True, help_text="Empty: for ever.")
    reason = models.CharField(max_length=500)
    made_by = models.ForeignKey("auth.User", on_delete=models.SET_NULL, null=True, editable=False, related_name="+")
    made_by_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, editable=False, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = BanQuerySet.as_manager()

    class Meta:
        ordering = ["-starts_at"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")), name="ban_ends_after_it_starts"
            ),
            models.CheckConstraint(
                condition=~Q(kind="suspension") | Q(ends_at__isnull=False), name="suspension_has_an_end"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["player", "starts_at"]),
            models.Index(fields=["starts_at"]),  # which began, and which ended, since boards last looked
            models.Index(fields=["ends_at"]),
        ]

    def __str__(self) -> str:
        until = f"until {self.ends_at:%Y-%m-%d %H:%M} UTC" if self.ends_at else "for ever"
        where = f" in {self.mode.slug}" if self.mode else ""
        return f"{self.get_kind_display().partition(':')[0]} of {self.player}{where} {until}"

    def clean(self) -> None:
        """The table's constraints say the same, but not in a sentence for whoever fills in a form."""
        for name in ("starts_at", "ends_at"):
            if (at := getattr(self, name)) is not None and not can_be_kept(at):
                raise ValidationError({name: f"It must be {RULE}."})
        if self.ends_at is not None and self.ends_at <= self.starts_at:
            raise ValidationError({"ends_at": "It must end after it starts."})
        if self.kind == self.Kind.SUSPENSION and self.ends_at is None:
            raise ValidationError({"ends_at": "A suspension needs an end; one without is a ban."})
        player = getattr(self, "player", None)  # a form may not have found it
        if self.mode and player and self.mode.game_id != player.game_id:
            raise ValidationError({"mode": "That is a mode of another game."})
