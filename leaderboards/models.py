"""What is played: modes and their rules."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, get_args

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.timezone import now

from config.recall import forget_after_commit
from leaderboards import tuning
from leaderboards.projection import Outbox, Placement, SetAside, Stamp, Standing, Stream
from leaderboards.rules.encoding import MAX_DECIMALS, MAX_RAW
from leaderboards.rules.mode import (
    MOST_DIMENSION_VALUES,
    MOST_GRACE_SECONDS,
    TAKEN_RULE,
    TAKEN_SLUGS,
    Aggregation,
    Bounds,
    ModeRules,
    NewValues,
    Order,
    Ranking,
    Submit,
    TieBreak,
    examine,
    locked_changes,
)
from players.models import Game, valid_slug

__all__ = ["Mode", "Outbox", "Placement", "SetAside", "Stamp", "Standing", "Stream"]

RULES = tuple(ModeRules.__dataclass_fields__)
_TOO_LARGE = f"Scaled scores reach from -{MAX_RAW} to {MAX_RAW}."


DEFAULT = ModeRules()


def _choices(literal: Any) -> list[tuple[str, str]]:
    return [(value, value) for value in get_args(literal)]


def default_windows() -> list[str]:
    return list(DEFAULT.windows)


def default_shards() -> int:
    return settings.SHARDS


def default_dimensions() -> list[str]:
    return list(DEFAULT.dimensions)


class ModeQuerySet(models.QuerySet["Mode"]):
    def update(self, **fields: Any) -> int:
        """Whoever knows a mode by heart forgets it: what is updated so sends no signal."""
        changed = super().update(**fields)
        forget_after_commit()  # not before: without a transaction it is told at once, and who hears it reads again
        return changed


class Mode(models.Model):
    """One way to play a game. Scores here are scaled integers (rules/encoding.py)."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="modes", db_index=False)
    slug = models.CharField(max_length=50, validators=[valid_slug])
    title = models.CharField(max_length=100)
    description = models.TextField(blank=True, max_length=1000)
    active = models.BooleanField(default=True, help_text="Off: readable, not writable.")

    aggregation = models.CharField(max_length=10, default=DEFAULT.aggregation, choices=_choices(Aggregation))
    order = models.CharField(max_length=4, default=DEFAULT.order, choices=_choices(Order))
    decimals = models.PositiveSmallIntegerField(default=DEFAULT.decimals, validators=[MaxValueValidator(MAX_DECIMALS)])
    min_score = models.BigIntegerField(null=True, blank=True, help_text="Scaled: 1.250 with 3 decimals is 1250.")
    max_score = models.BigIntegerField(null=True, blank=True, help_text="Scaled.")
    max_total = models.BigIntegerField(null=True, blank=True, help_text="Scaled; for sum only.")
    bounds = models.JSONField(
        default=dict, blank=True, help_text='Tighter, scaled bounds: {"level:7": {"low": null, "high": 5000}}'
    )
    windows: "ArrayField[Any, Any]" = ArrayField(models.CharField(max_length=10), default=default_windows)
    timezone = models.CharField(
        max_length=64, default=DEFAULT.timezone, help_text="IANA name; where the mode's days begin."
    )
    grace_seconds = models.PositiveIntegerField(
        default=DEFAULT.grace_seconds, validators=[MaxValueValidator(MOST_GRACE_SECONDS)]
    )
    tie_break = models.CharField(max_length=8, default=DEFAULT.tie_break, choices=_choices(TieBreak))
    ranking = models.CharField(max_length=11, default=DEFAULT.ranking, choices=_choices(Ranking))
    dimensions: "ArrayField[Any, Any]" = ArrayField(
        models.CharField(max_length=32), default=default_dimensions, blank=True
    )
    dimension_values = models.PositiveIntegerField(
        default=DEFAULT.dimension_values, validators=[MinValueValidator(1), MaxValueValidator(MOST_DIMENSION_VALUES)]
    )
    values = models.JSONField(
        default=dict, blank=True, help_text='Declared values: {"level": ["1", "2"]}. Empty: none are declared.'
    )
    new_values = models.CharField(max_length=6, default=DEFAULT.new_values, choices=_choices(NewValues))
    submit = models.CharField(max_length=7, default=DEFAULT.submit, choices=_choices(Submit))
    checks = models.JSONField(default=dict, blank=True, help_text="How checks are tuned. Empty: as by default.")

    shards = models.PositiveSmallIntegerField(default=default_shards, editable=False)
    generation = models.PositiveIntegerField(default=1, editable=False)  # of its boards; a rebuild makes the next
    # set once, by the log, in the transaction of the first score; from then on LOCKED rules stay as they are
    first_score_at = models.DateTimeField(null=True, blank=True, editable=False)
    # until when windows had expired of which the standings were deleted: earlier than that, a clock was set back
    standings_purged_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)

    objects = ModeQuerySet.as_manager()

    class Meta:
        ordering = ["game", "slug"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["game", "slug"], name="mode_once_in_its_game")]

    def __str__(self) -> str:
        return f"{self.game}/{self.slug}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Dense ranks do not add up over shards: such a mode has one, whatever is the default of others."""
        if self.ranking == "dense" and self.first_score_at is None and self.shards != 1:
            self.shards = 1
            if kwargs.get("update_fields") is not None:
                kwargs["update_fields"] = {*kwargs["update_fields"], "shards"}
        super().save(*args, **kwargs)

    @property
    def epoch(self) -> datetime:
        """Where the all-time clock of its ties begins: before the mode itself, for scores brought along."""
        return self.created_at - timedelta(days=30)

    @property
    def rules(self) -> ModeRules:
        values = {name: getattr(self, name) for name in RULES}
        values["windows"], values["dimensions"] = tuple(self.windows), tuple(self.dimensions)
        values["bounds"] = {scope: Bounds(**sides) for scope, sides in self.bounds.items()}
        values["values"] = {name: tuple(declared) for name, declared in self.values.items()}
        return ModeRules(**values)

    def clean(self) -> None:
        """The admin's form is held to the same rules as the API and the file."""
        for name in ("min_score", "max_score", "max_total"):
            if abs(getattr(self, name) or 0) > MAX_RAW:
                raise ValidationError({name: _TOO_LARGE})
        _check_bounds(self.bounds)
        _check_values(self.values)
        rules = self.rules
        errors: dict[str, list[str]] = {}
        for field, sentences in examine(rules).errors.items():
            name, _, scope = field.partition(".")
            errors.setdefault(name, []).extend(f"{scope}: {told}" if scope else told for told in sentences)
        for field, sentences in tuning.errors(self.checks, decimals=self.decimals).items():
            errors.setdefault("checks", []).extend(f"{field.removeprefix('checks.')}: {told}" for told in sentences)
        if self._state.adding and self.slug in TAKEN_SLUGS:
            errors["slug"] = [f"{self.slug!r} cannot name a mode: {TAKEN_RULE}"]
        before = Mode.objects.filter(pk=self.pk, first_score_at__isnull=False).first()
        for name in locked_changes(before.rules, rules) if before else ():
            errors.setdefault(name, []).append("Scores exist, and what they mean depends on this rule.")
        if errors:
            raise ValidationError(errors)


def _check_bounds(bounds: Any) -> None:
    """A form hands over any JSON at all; everything after this may rely on its shape."""
    sides_of = bounds.values() if isinstance(bounds, dict) else [None]
    for sides in sides_of:
        if not isinstance(sides, dict) or not sides.keys() <= {"low", "high"}:
            raise ValidationError({"bounds": 'Bounds look like {"level:7": {"low": null, "high": 5000}}.'})
        for raw in sides.values():
            if raw is not None and type(raw) is not int:  # a bool is an int too
                raise ValidationError({"bounds": "low and high are whole numbers, scaled, or null."})
            if abs(raw or 0) > MAX_RAW:
                raise ValidationError({"bounds": _TOO_LARGE})


def _check_values(values: Any) -> None:
    lists = values.values() if isinstance(values, dict) else [None]
    if not all(isinstance(some, list) and all(isinstance(value, str) for value in some) for some in lists):
        raise ValidationError({"values": 'Values look like {"level": ["1", "2"]}.'})
